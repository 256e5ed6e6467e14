// `holdfast models`: what is known of models, and what is wrong with one. `holdfast providers`: the
// states of keys.
import type { CatalogueModel, ModelProbe } from '../../contract/models.ts';
import { EXIT, notFound, type ExitCode } from '../../cli/cli-error.ts';
import { command, lists, prints, type Words } from '../../cli/command.ts';
import { printTable } from '../../cli/print.ts';
import { findClosest } from '../../config/config-error.ts';

/**
 * Exit codes for names that do not exist, and for faults of the configuration and of the way to the
 * provider; all others are `failed`.
 */
const PROBE_EXITS: Partial<Record<ModelProbe['code'], ExitCode>> = {
  ok: EXIT.ok,
  not_configured: EXIT.notFound,
  key_refused: EXIT.configuration,
  wrong_address: EXIT.configuration,
  model_unknown: EXIT.notFound,
  package_missing: EXIT.configuration,
  tls: EXIT.cannotReach,
  unreachable: EXIT.cannotReach,
};

export const words: Words = {
  models: {
    list: command({
      summary: 'list the models that are known; other models can be asked, too',
      takes: { provider: ['--provider <name>', 'only of this provider, such as openai'] },
      run: lists(
        'getModelCatalogue',
        () => [
          { title: 'MODEL', value: ({ model }) => model },
          { title: 'WINDOW', value: ({ contextTokens }) => contextTokens, dropOrder: 1 },
          { title: 'ANSWER', value: ({ maxOutputTokens }) => maxOutputTokens, dropOrder: 4 },
          { title: 'TAKES', value: ({ input }) => input?.join(', '), dropOrder: 6 },
          { title: 'IN', value: ({ inputPerMTok }) => inputPerMTok, dropOrder: 2 },
          { title: 'OUT', value: ({ outputPerMTok }) => outputPerMTok, dropOrder: 3 },
          { title: 'USED BY', value: ({ usedBy }) => usedBy.join(', '), dropOrder: 5 },
        ],
        { none: 'Nothing is known of models of this provider; they can be asked all the same.' },
      ),
    }),
    show: command({
      summary: 'print what is known of a model',
      takes: { model: ['<model>', 'the model as provider/model'] },
      async run({ model }, api, terminal) {
        const { items } = await api.call('getModelCatalogue', {});
        const row = items.find((item) => item.model === model);
        if (row === undefined) throw unknownModel(model, items);
        if (terminal.isJson) terminal.json(row);
        else terminal.print(factsText(row));
      },
    }),
    probe: command({
      summary: 'ask a provider, or a model for a few tokens, and say what is wrong',
      takes: { model: ['<model>', 'the model as provider/model, or a provider'] },
      async run({ model }, api, terminal) {
        const found = await api.call('probeModel', { model });
        if (terminal.isJson) terminal.json(found);
        else terminal.print(found.text);
        return PROBE_EXITS[found.code] ?? EXIT.failed;
      },
    }),
  },
  providers: {
    list: command({
      summary: 'list the providers with their keys: used, not used for a time, or refused',
      run: prints('listProviders', ({ items }, terminal) => {
        const rows = items.flatMap(({ keys, ...provider }) => keys.map((key) => ({ ...provider, key })));
        printTable(
          { items: rows },
          [
            { title: 'PROVIDER', value: ({ name }) => name },
            { title: 'KEY', value: ({ key }) => key.name },
            { title: 'STATE', value: ({ key }) => key.state },
            { title: 'MODEL', value: ({ key }) => key.model, dropOrder: 3 },
            { title: 'UNTIL', value: ({ key }) => key.until, dropOrder: 2 },
            { title: 'API', value: ({ api }) => api, dropOrder: 4 },
            { title: 'ADDRESS', value: ({ baseUrl }) => baseUrl, dropOrder: 5 },
            { title: 'REASON', value: ({ key }) => key.reason, dropOrder: 1 },
          ],
          terminal,
        );
      }),
    }),
  },
};

function unknownModel(model: string, items: readonly CatalogueModel[]): Error {
  const close = findClosest(
    model,
    items.map((item) => item.model),
  );
  return notFound(
    `nothing is known of the model "${model}"${close === undefined ? '' : `; did you mean "${close}"?`}`,
    'print the known ones with "holdfast models list". An unknown model can be asked all the same; "models.catalogue" of the configuration can say what it takes',
  );
}

function factsText(row: CatalogueModel): string {
  const lines: [string, string | number | null | undefined][] = [
    ['window', row.contextTokens === null ? null : `${row.contextTokens} tokens`],
    ['longest answer', row.maxOutputTokens === null ? null : `${row.maxOutputTokens} tokens`],
    ['takes', row.input?.join(', ')],
    ['thinking', row.thinking?.join(', ')],
    [
      'price',
      row.inputPerMTok === null ? null : `$${row.inputPerMTok} in, $${row.outputPerMTok} out, per million tokens`,
    ],
    ['used by', row.usedBy.length === 0 ? 'nothing' : row.usedBy.join(', ')],
    ['source', row.checkedAt === null ? row.source : `${row.source}, checked ${row.checkedAt}`],
  ];
  return [row.model, ...lines.map(([name, value]) => `  ${name.padEnd(16)}${value ?? 'not known'}`)].join('\n');
}
