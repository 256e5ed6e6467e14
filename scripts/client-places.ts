// The text of `src/client/generated/places.ts`: where the functions of the typed client send their
// requests, and what its answer is unless that is JSON. Apart from the types, because Node takes 60
// ms to strip those, and nothing loads them.
import { ROUTES } from './all-routes.ts';
import type { Route } from '../src/api/route.ts';

/** Text of a module that exports `OPERATIONS`, `STREAMS` and the type `LineOperation`. */
export function placesText(): string {
  // The endpoints in OpenAI's form have clients of their own, and pages are for people.
  const own = ROUTES.filter((route) => route.form === undefined && typeOf(route) !== 'text/html');
  const isStream = (route: Route): boolean => typeOf(route) === 'text/event-stream';
  const lines = own.filter((route) => route.takes?.as === 'lines').map(({ operationId }) => `'${operationId}'`);
  return `
/** The method and path of each function, and what its answer is unless that is JSON. */
${recordOf(
  'OPERATIONS',
  own.filter((route) => !isStream(route)),
)}
/** The method and path of each stream of events. */
${recordOf('STREAMS', own.filter(isStream))}
/** The operations whose body may be lines of JSON (application/x-ndjson). */
export type LineOperation = ${lines.join(' | ')};
`;
}

/**
 * Text of a module with an object for each function: what the fields of its query choose from.
 * Apart from the places, because only pages need them; separate objects, so that a page has those
 * that it names.
 */
export function choicesText({ paths }: { paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> }): string {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods) as Operation[]);
  const rows = operations.flatMap(({ operationId, parameters = [] }) => {
    const fields = parameters.flatMap(({ name, schema }) => {
      const choices = schema?.enum ?? schema?.items?.enum;
      return choices === undefined ? [] : [`${name}: ${JSON.stringify(choices)}`];
    });
    return fields.length === 0 ? [] : [`export const ${operationId} = { ${fields.join(', ')} } as const;`];
  });
  return `
// The values that a field of a query takes, by function and field.
${rows.join('\n')}
`;
}

interface Operation {
  operationId: string;
  parameters?: { name: string; schema?: { enum?: string[]; items?: { enum?: string[] } } }[];
}

function recordOf(name: string, routes: readonly Route[]): string {
  const rows = routes.map((route) => `  ${route.operationId}: '${route.method} ${route.path}${formOf(route)}',`);
  return `export const ${name} = {\n${rows.join('\n')}\n} as const;\n`;
}

function formOf(route: Route): string {
  const type = typeOf(route);
  if (type === 'application/x-ndjson') return ' lines';
  return type === 'text/plain' ? ' text' : '';
}

function typeOf({ answers }: Route): string | undefined {
  return answers[200]?.contentType;
}
