import { expect, test } from 'vitest';
import { listenWarnings } from '../../workers/start-lines.ts';

test.each([
  ['127.0.0.1', undefined, 0],
  ['::1', undefined, 0],
  ['localhost', undefined, 0],
  ['0.0.0.0', 'https://agents.example', 0],
  ['0.0.0.0', undefined, 1],
  ['::', undefined, 1],
  ['192.168.1.5', 'http://agents.lan', 1],
])('an API on %s with the public URL %s has %d warnings', (host, publicUrl, count) => {
  const warnings = listenWarnings({ runtime: { host }, api: publicUrl === undefined ? {} : { publicUrl } });
  expect(warnings).toHaveLength(count);
  for (const warning of warnings) expect(warning).toContain(`listens on ${host} without TLS`);
});
