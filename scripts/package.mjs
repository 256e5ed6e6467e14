// Makes the npm package. Node runs TypeScript only outside of node_modules, so the package contains
// compiled JavaScript (docs/decisions/0063).
//
//   node scripts/package.mjs build     what `npm pack` calls first: compiles into dist/, and lets
//                                      package.json name what is there
//   node scripts/package.mjs restore   what it calls last: package.json is as it was
//   node scripts/package.mjs size      what a package has: fails when it is too large, has files
//                                      that do not belong into it, or has an entry or types that
//                                      publint or Are The Types Wrong objects to; with the name of
//                                      a folder, the package is put there
//
// Plain JavaScript, because it runs on the Node that npm runs on.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const DIST = join(ROOT, 'dist');
const MANIFEST = join(ROOT, 'package.json');
/**
 * The files of the checkout that others take the place of while npm packs, and where they are kept
 * meanwhile.
 */
const REPLACED = [
  [MANIFEST, join(ROOT, 'package.checkout.json')],
  [join(ROOT, 'README.md'), join(ROOT, 'checkout.readme.md')],
];
const PACKED_BYTES_MAX = 3 * 1024 * 1024;
/** The beginnings of the paths that a package may have. */
const ALLOWED = [
  /^dist\/(?:src|jobs|workers|demo|scripted-model|scripted-platform)\/.*\.(?:js|mjs|json|d\.ts)$/,
  /^dist\/migrations\/[\w.]+\.sql$/,
  /^dist\/web\/dist\//,
  /^dist\/docs\/(?:(?:how-to|references)\/)?[\w-]+\.(?:md|json)$/,
  /^dist\/package\.json$/,
  /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
];

const commands = { build, restore, size };
const command = commands[process.argv[2]];
if (command === undefined) {
  process.stderr.write('Usage: node scripts/package.mjs build | restore | size\n');
  process.exit(2);
}
await command();

function build() {
  restore();
  rmSync(DIST, { recursive: true, force: true });
  run(process.execPath, ['scripts/generate.ts']);
  run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.package.json']);
  // The declarations of what others import, and of what those name.
  run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.declarations.json']);
  run(process.execPath, ['web/build.mjs']);
  cpSync(join(ROOT, 'src/cli/bin.mjs'), join(DIST, 'src/cli/bin.mjs'));
  cpSync(join(ROOT, 'migrations'), join(DIST, 'migrations'), { recursive: true });
  cpSync(join(ROOT, 'web/dist'), join(DIST, 'web/dist'), { recursive: true });
  // The system prompt tells agents where the documentation is.
  for (const folder of ['docs', 'docs/how-to', 'docs/references']) {
    for (const name of readdirSync(join(ROOT, folder))) {
      if (/\.(?:md|json)$/.test(name)) cpSync(join(ROOT, folder, name), join(DIST, folder, name));
    }
  }
  const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8'));
  // Code that reads files relative to modules finds the manifest where a checkout has it.
  const { name, version, type, dependencies } = manifest;
  writeJson(join(DIST, 'package.json'), { name, version, type, dependencies });
  const readme = packedReadme(readFileSync(join(ROOT, 'README.md'), 'utf8'));
  for (const [path, kept] of REPLACED) renameSync(path, kept);
  writeJson(MANIFEST, packedManifest(manifest));
  writeFileSync(join(ROOT, 'README.md'), readme);
}

/**
 * The README of the package: its links lead to the pages in the package, and those that lead to
 * other files of a checkout are texts.
 */
function packedReadme(text) {
  return text.replaceAll(
    /(!?)\[([^\]]*)\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g,
    (link, isImage, label, path, anchor = '') => {
      const packed = ['LICENSE', 'CHANGELOG.md'].includes(path) ? path : `dist/${path}`;
      if (existsSync(join(ROOT, packed))) return `[${label}](${packed}${anchor})`;
      return isImage ? '' : label;
    },
  );
}

/**
 * The manifest of the package: compiled files in place of sources, and nothing that is only for a
 * checkout.
 */
function packedManifest({
  scripts: _scripts,
  devDependencies: _dev,
  overrides: _overrides,
  allowScripts: _allow,
  private: _private,
  ...manifest
}) {
  const entry = (path) => ({ types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` });
  return {
    ...manifest,
    bin: { holdfast: 'dist/src/cli/bin.mjs' },
    exports: {
      './channel': entry('src/features/channels/platform'),
      './client': entry('src/client/create-client'),
      './plugin': { types: './dist/src/plugins/plugin-api.d.ts' },
      './package.json': './package.json',
    },
  };
}

function restore() {
  for (const [path, kept] of REPLACED) if (existsSync(kept)) renameSync(kept, path);
}

async function size() {
  const folder = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'holdfast-package-'));
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder]));
  const paths = packed.files.map(({ path }) => path);
  const strangers = paths.filter((path) => !ALLOWED.some((pattern) => pattern.test(path)));
  process.stdout.write(
    `${packed.filename}: ${paths.length} files, ${(packed.size / 1024 / 1024).toFixed(2)} MB packed, ${(packed.unpackedSize / 1024 / 1024).toFixed(2)} MB unpacked\n`,
  );
  const faults = [
    ...(packed.size > PACKED_BYTES_MAX
      ? [`It is larger than ${PACKED_BYTES_MAX / 1024 / 1024} MB: find what came in, or leave it out in "files".`]
      : []),
    ...(strangers.length > 0 ? [`These files do not belong into it: ${strangers.slice(0, 10).join(', ')}`] : []),
    ...(await faultsOfEntries(new Uint8Array(readFileSync(join(folder, packed.filename))))),
  ];
  if (process.argv[3] === undefined) rmSync(folder, { recursive: true });
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

/**
 * What is wrong with what others import, for each way in which it is resolved. The package is for
 * ES modules alone.
 */
async function faultsOfEntries(tarball) {
  const { publint } = await import('publint');
  const { formatMessage } = await import('publint/utils');
  const { checkPackage, createPackageFromTarballData } = await import('@arethetypeswrong/core');
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  const { problems = [] } = await checkPackage(createPackageFromTarballData(tarball));
  const isForCommonJs = ({ resolutionKind, resolutionOption }) =>
    resolutionKind === 'node16-cjs' || [resolutionKind, resolutionOption].includes('node10');
  return [
    ...messages.map((message) => `publint: ${formatMessage(message, pkg)}`),
    ...problems.filter((one) => !isForCommonJs(one)).map((one) => `Are The Types Wrong: ${JSON.stringify(one)}`),
  ];
}

function run(file, args) {
  return execFileSync(file, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
