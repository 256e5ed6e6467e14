// A form with a file, without a server: what only a client that never stops would send.
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readForm } from '../../src/api/openai/read-form.ts';

const headers = { 'content-type': 'multipart/form-data; boundary=b' };
const file = (name: string): string =>
  `\r\n--b\r\ncontent-disposition: form-data; name="${name}"; filename="x"\r\n\r\n`;

test('a form whose second file never ends is refused, and its first file is not kept', async () => {
  async function* endless(): AsyncGenerator<Buffer> {
    yield Buffer.from(`${file('file')}first${file('other')}`);
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      yield Buffer.alloc(65_536, 'x');
    }
  }
  const kept: string[] = [];
  const reading = readForm(Readable.from(endless()), { headers, bytesMax: 1_000 }, async ({ content }) => {
    for await (const chunk of content) kept.push(chunk.toString());
    return kept.join('');
  });
  await expect(reading).rejects.toMatchObject({ code: 'body_too_large', status: 413 });
});
