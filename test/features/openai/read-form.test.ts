// A form with a file, without a server: what only a client that never stops would send.
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readForm } from '../../../src/features/openai/read-form.ts';

const headers = { 'content-type': 'multipart/form-data; boundary=b' };
const file = (name: string): string =>
  `\r\n--b\r\ncontent-disposition: form-data; name="${name}"; filename="x"\r\n\r\n`;

async function* endless(beginning: string): AsyncGenerator<Buffer> {
  yield Buffer.from(beginning);
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    yield Buffer.alloc(65_536, 'x');
  }
}

test.each([
  ['has a second file that never ends', `first${file('other')}`, { code: 'invalid_body', status: 400 }],
  ['has text without end around its file', 'first\r\n--b\r\nx: ', { code: 'body_too_large', status: 413 }],
])('a form that %s is refused, and its file is not kept', async (_name, rest, refusal) => {
  const kept: string[] = [];
  const body = Readable.from(endless(`${file('file')}${rest}`));
  const reading = readForm(body, { headers, bytesMax: 1_000 }, async ({ content }) => {
    for await (const chunk of content) kept.push(chunk.toString());
    return kept.join('');
  });
  await expect(reading).rejects.toMatchObject(refusal);
});
