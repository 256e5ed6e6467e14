// Builds the dashboard into web/dist. With --if-needed it does so only when a source has changed, and never fails: it is part of `npm ci`, and a
// service without a dashboard is better than none.
import { createHash } from 'node:crypto';
import { globSync, existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(import.meta.dirname, 'dist');
const STAMP = join(DIST, '.stamp');
const SOURCES = [
  'web/src/**/*',
  'web/index.html',
  'web/vite.config.ts',
  'web/build.mjs',
  'src/client/**/*.ts',
  'package-lock.json',
];
const COMPRESSED = /\.(?:html|js|css|svg)$/;

// Whatever the environment says: the libraries of the page have a form for development that is twice as large.
process.env.NODE_ENV = 'production';

const isOptional = process.argv.includes('--if-needed');

async function hashOfSources() {
  const hash = createHash('sha256');
  const files = globSync(SOURCES, { cwd: ROOT, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  for (const file of files)
    hash
      .update(file.slice(ROOT.length))
      .update('\0')
      .update(await readFile(file))
      .update('\0');
  return hash.digest('hex');
}

/** Next to each file its compressed forms, so that the service compresses nothing while it runs. */
async function compress() {
  const files = globSync('**/*', { cwd: DIST, withFileTypes: true })
    .filter((entry) => entry.isFile() && COMPRESSED.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  await Promise.all(
    files.map(async (file) => {
      const bytes = await readFile(file);
      const params = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
      const [br, gz] = await Promise.all([
        promisify(brotliCompress)(bytes, { params }),
        promisify(gzip)(bytes, { level: 9 }),
      ]);
      await Promise.all([writeFile(`${file}.br`, br), writeFile(`${file}.gz`, gz)]);
    }),
  );
}

async function main() {
  const hash = await hashOfSources();
  if (isOptional && existsSync(STAMP) && (await readFile(STAMP, 'utf8')) === hash) return;
  const { build } = await import('vite');
  await build({ configFile: join(import.meta.dirname, 'vite.config.ts'), logLevel: isOptional ? 'error' : 'info' });
  await compress();
  await writeFile(STAMP, hash);
}

try {
  await main();
} catch (error) {
  if (!isOptional) throw error;
  const reason =
    error?.code === 'ERR_MODULE_NOT_FOUND'
      ? 'its build tools are not installed'
      : String(error?.message ?? error).split('\n', 1)[0];
  console.log(`The dashboard was not built: ${reason}. To build it: npm install && npm run build:web`);
}
