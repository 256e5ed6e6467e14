// What is made of the table of routes, the commands and the schemas, and not committed: a part of
// the typed client, and docs/references. `npm ci` makes it, as do `npm run build`, `npm run types`
// and the tests, before anything else. A file that would stay the same is not written.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { OpenAPI3 } from 'openapi-typescript';
import { openApiDocument } from '../src/api/openapi.ts';
import { ROUTES } from './all-routes.ts';
import { choicesText, placesText } from './client-places.ts';

const ROOT = resolve(import.meta.dirname, '..');
const MADE = '// Made of the table of routes by `npm run build`; do not edit it.';

// As clients download it.
const document = JSON.stringify(openApiDocument(ROUTES));

write('src/client/generated/places.ts', `${MADE}\n${placesText()}`);
write(
  'src/client/generated/choices.ts',
  `${MADE}\n${choicesText(JSON.parse(document) as OpenAPI3 & Parameters<typeof choicesText>[0])}`,
);
write('docs/references/openapi.json', document);
// These import the places.
const { referencePages } = await import('./references/pages.ts');
for (const [name, text] of Object.entries(referencePages())) write(`docs/references/${name}`, text);
// The types are for the compiler alone; an installation without the tools of development has no
// compiler.
const openapi = await import('openapi-typescript').catch(() => null);
if (openapi !== null) {
  // A union in place of types that exclude each other: its variants differ in a constant field, by
  // which the compiler tells them apart.
  const schema = JSON.parse(document.replaceAll('"oneOf":', '"anyOf":')) as OpenAPI3;
  write('src/client/generated/openapi.ts', `${MADE}\n${await openapi.default(schema, { commentHeader: '' })}`);
}

function write(path: string, text: string): void {
  const file = join(ROOT, path);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
