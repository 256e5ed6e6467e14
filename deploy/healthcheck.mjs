// Exits 0 when the process of this container answers: on the port of the API, or in other roles on that of the metrics. Plain JavaScript with
// nothing to load, because it runs every few seconds.
const ports = [process.env.HOLDFAST_PORT || '7420', process.env.HOLDFAST_METRICS_PORT].filter(Boolean);

const looks = ports.map(async (port) => {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(4_000) });
  if (!answer.ok) throw new Error(`port ${port} answers ${answer.status}`);
});

Promise.any(looks).then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`${error.errors.map(({ message, cause }) => cause?.message ?? message).join('; ')}\n`);
    process.exit(1);
  },
);
