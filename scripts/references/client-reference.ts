// docs/references/client.md: every function of the typed client.
import { OPERATIONS, STREAMS } from '../../src/client/generated/places.ts';
import { apiDocument, type Operation } from './api-document.ts';
import { answerText, rowOf } from './schema-fields.ts';

const HEAD = `# Reference of the typed client

Made from the table of routes. [client.md](../client.md) explains how the client is used: calls, errors, retries, lists, events.

Each function takes one object with the fields of its second column, those with \`?\` only if wanted, and resolves with the body of the answer. [The reference of the API](api.md) has all fields.`;

const EVENTS = `## Events

\`client.events()\` and \`client.turnEvents()\` read these as iterators that connect again and resume.`;

export function clientReference(): string {
  const { operations } = apiDocument();
  const own = operations.filter(({ operationId }) => operationId in OPERATIONS);
  const tags = [...new Set(own.map(({ tag }) => tag))];
  const sections = tags.map((tag) => `## ${tag}\n\n${tableOf(own.filter((operation) => operation.tag === tag))}`);
  const streams = operations.filter(({ operationId }) => operationId in STREAMS);
  return `${[HEAD, ...sections, EVENTS, tableOf(streams)].join('\n\n')}\n`;
}

function tableOf(operations: Operation[]): string {
  const rows = operations.map((operation) =>
    rowOf([
      `\`${operation.operationId}\``,
      inputOf(operation),
      answerOf(operation),
      `${operation.summary}. \`${operation.place}\``,
    ]),
  );
  return ['| function | takes | resolves with | does |', '|---|---|---|---|', ...rows].join('\n');
}

function inputOf({ parameters, body }: Operation): string {
  const names = parameters
    .filter((parameter) => parameter.in !== 'header')
    .map(({ name, required }) => (required ? name : `${name}?`));
  const all = [...names, ...(body === null ? [] : [body.isRequired ? 'body' : 'body?'])];
  return all.length === 0 ? '' : `\`{ ${all.join(', ')} }\``;
}

function answerOf({ answers }: Operation): string {
  const types = answers
    .filter(({ status }) => status.startsWith('2'))
    .map(({ contentType, schema }) => {
      if (contentType === 'application/json') {
        // Objects are sections of the other page.
        return answerText(schema ?? {}).replaceAll('](#', '](api.md#');
      }
      if (contentType === 'application/x-ndjson') return 'a stream of lines';
      return contentType === 'text/event-stream'
        ? '[LiveEvent](api.md#liveevent), each'
        : contentType.startsWith('text/')
          ? 'text'
          : 'nothing';
    });
  return [...new Set(types)].join(' or ');
}
