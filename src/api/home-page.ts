// The page at `/` of a service whose dashboard was not built: it says so, gives the next step, and shows nothing that needs a key.

export function renderHome(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Holdfast</title>
</head>
<body>
<h1>Holdfast</h1>
<p>A durable worker service for agents. This process answers its HTTP API. Its dashboard was not built: run
<code>npm install &amp;&amp; npm run build:web</code> in its folder, and start it again.</p>
<ul>
<li><a href="/readyz">/readyz</a>: the state of each dependency, and the model in use</li>
<li><a href="/healthz">/healthz</a>: whether this process is alive</li>
<li><code>/openapi.json</code>, <code>/metrics</code> and <code>/v1/…</code>: with <code>Authorization: Bearer &lt;key&gt;</code></li>
</ul>
</body>
</html>
`;
}
