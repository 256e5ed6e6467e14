// The page at `/`: says what this is and where to look, and shows nothing that needs a key.

export function renderHome(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; }
  code { font-size: .95em; }
</style>
</head>
<body>
<h1>Holdfast</h1>
<p>A durable worker service for agents. This process answers its HTTP API.</p>
<ul>
<li><a href="/readyz">/readyz</a>: the state of each dependency, and the model in use</li>
<li><a href="/healthz">/healthz</a>: whether this process is alive</li>
<li><code>/openapi.json</code>, <code>/metrics</code> and <code>/v1/…</code>: with <code>Authorization: Bearer &lt;key&gt;</code></li>
</ul>
</body>
</html>
`;
}
