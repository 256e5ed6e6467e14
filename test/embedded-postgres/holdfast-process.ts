// A process that uses the embedded server of the data directory that is its argument, as `holdfast
// start` does. It prints one line of JSON when the server is there, signs off and ends when it
// reads `stop`, and ends without that when its input ends.
import { createInterface } from 'node:readline';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/start-embedded-postgres.ts';

const [dataDir = ''] = process.argv.slice(2);
const { url, pid, wasAdopted, stop } = await startEmbeddedPostgres({ dataDir });
process.stdout.write(`${JSON.stringify({ url, pid, wasAdopted })}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  if (line !== 'stop') continue;
  await stop();
  break;
}
process.exit();
