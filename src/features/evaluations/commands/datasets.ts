// `holdfast datasets`: data sets, and where their items come from.
import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { DatasetView } from '../contract-datasets.ts';
import { usageError } from '../../../cli/cli-error.ts';
import { command, lists, prints, type Words } from '../../../cli/command.ts';
import { fileError } from '../../../cli/file-error.ts';
import { endOfPlan } from '../../../cli/is-sure.ts';
import { commaSeparated, pages, wholeNumber } from '../../../cli/options.ts';
import { printFields } from '../../../cli/print.ts';
import { pastTime } from '../../../cli/time-option.ts';

const UPLOAD_MS_MAX = 600_000;
const HELD_BACK_MAX = 90;
const ITS_NAME = { dataset: ['<name>', 'its name or id'] } as const;

export const words: Words = {
  datasets: {
    create: command({
      summary: 'make a data set without items',
      takes: {
        name: ['<name>', 'its name'],
        agent: ['--agent <id>', 'the agent that cases of files are asked of'],
        heldBackPercent: [
          '--held-back <percent>',
          'how many of a hundred conversations are held back',
          wholeNumber(0, HELD_BACK_MAX),
        ],
        description: ['--description <text>', 'a text for people'],
      },
      run: prints('createDataset', ({ id }) => id),
    }),
    add: command({
      summary: 'add items to a data set, as one version: turns, or the lines of a file',
      takes: {
        ...ITS_NAME,
        turns: ['--turns <ids>', 'these turns, separated by commas', commaSeparated],
        filter: [
          '--filter <conditions...>',
          'turns that meet all of these, such as status=failed since=7d score=thumb:false tag=customer:42',
        ],
        file: ['--file <path>', 'the lines of this file; a name that ends in .gz says that it is compressed'],
      },
      async run({ dataset, turns, filter, file }, api, terminal) {
        if ([turns, filter, file].filter((one) => one !== undefined).length !== 1)
          throw usageError('expected one of --turns, --filter and --file', 'pass exactly one of them');
        const { added, version, ...rest } =
          file === undefined
            ? await api.call('addDatasetItems', {
                dataset,
                turns,
                filter: filter === undefined ? undefined : readFilter(filter),
              })
            : await api.addDatasetItems(
                { dataset, body: Readable.toWeb(await openFile(file)) as ReadableStream<Uint8Array> },
                { timeoutMs: UPLOAD_MS_MAX, headers: file.endsWith('.gz') ? { 'content-encoding': 'gzip' } : {} },
              );
        if (terminal.isJson) terminal.json({ version, added, ...rest });
        else terminal.print(`${added} ${added === 1 ? 'item' : 'items'} added; version ${version}`);
      },
    }),
    list: command({
      summary: 'list data sets, newest first',
      takes: pages(),
      run: lists('listDatasets', (terminal) => [
        { title: 'NAME', value: (row) => row.name },
        { title: 'VERSION', value: (row) => row.version },
        { title: 'READY', value: (row) => row.counts.ready },
        { title: 'HELD BACK', value: (row) => row.counts.heldBack, dropOrder: 2 },
        { title: 'EXCLUDED', value: (row) => row.counts.excluded, dropOrder: 1 },
        { title: 'AGENT', value: (row) => row.agentId, dropOrder: 3 },
        { title: 'UPDATED', value: (row) => terminal.time(row.updatedAt), dropOrder: 4 },
      ]),
    }),
    show: command({
      summary: 'print one data set with its counts',
      takes: ITS_NAME,
      run: prints('getDataset', (dataset, terminal) => {
        printFields(terminal, {
          id: dataset.id,
          name: dataset.name,
          description: dataset.description,
          agent: dataset.agentId,
          version: dataset.version,
          items: describeCounts(dataset),
          'held back': `${dataset.heldBackPercent} %`,
          created: `${terminal.time(dataset.createdAt)} by ${dataset.createdBy ?? 'another key'}`,
          updated: terminal.time(dataset.updatedAt),
        });
      }),
    }),
    items: command({
      summary: 'list the items of a data set, in the order of their numbers',
      takes: {
        ...ITS_NAME,
        ...pages(),
        state: ['--state <state>', 'only in this state, such as excluded'],
        split: ['--split <part>', 'only of this part: work or heldBack'],
      },
      run: lists('listDatasetItems', () => [
        { title: 'N', value: (row) => row.n },
        { title: 'STATE', value: (row) => row.state },
        { title: 'PART', value: (row) => row.split, dropOrder: 2 },
        { title: 'INPUT', value: (row) => row.input, isProse: true },
        { title: 'WHY', value: (row) => row.excluded, dropOrder: 1, isProse: true },
        { title: 'CALLS', value: (row) => row.calls, dropOrder: 4 },
        { title: 'TURN', value: (row) => row.turnId, dropOrder: 3 },
      ]),
    }),
    delete: command({
      summary: 'delete a data set with its items and its evaluations; the turns that were copied stay',
      takes: {
        ...ITS_NAME,
        dryRun: ['--dry-run', 'only count its items'],
        yes: ['--yes', 'do not ask for confirmation'],
      },
      async run({ dataset, dryRun, yes }, api, terminal) {
        const end = await endOfPlan({ dryRun, yes }, terminal, async () => {
          const { name, counts } = await api.getDataset({ dataset });
          return { total: counts.items, text: `delete the data set ${name} with ${counts.items} items` };
        });
        if (end !== null) return end;
        const answer = await api.deleteDataset({ dataset });
        if (terminal.isJson) terminal.json(answer);
        else terminal.print(`the data set ${dataset} is deleted`);
      },
    }),
  },
};

function describeCounts({ counts: { items, ...states } }: DatasetView): string {
  const parts = Object.entries(states).map(([name, count]) => `${count} ${name === 'heldBack' ? 'held back' : name}`);
  return [items, ...parts.filter((part) => !part.startsWith('0 '))].join(', ');
}

/** How the text of a condition becomes a field of the filter. */
const FIELDS: Readonly<Record<string, (text: string) => unknown>> = {
  session: String,
  agent: String,
  status: commaSeparated,
  score: String,
  model: String,
  tool: String,
  code: String,
  since: pastTime,
  until: pastTime,
  limit: Number,
};

/** Conditions such as `status=failed`. Throws `CliError` for one that is not. */
export function readFilter(conditions: readonly string[]): Record<string, unknown> {
  const filter: Record<string, unknown> = {};
  for (const condition of conditions) {
    const [, name = '', text = ''] = /^(\w+)=(.+)$/s.exec(condition) ?? [];
    const [, key, value] = name === 'tag' ? (/^([^:]+):(.*)$/s.exec(text) ?? []) : [];
    if (key !== undefined) filter['tag'] = { ...(filter['tag'] as object | undefined), [key]: value };
    else if (Object.hasOwn(FIELDS, name) && !Object.hasOwn(filter, name)) filter[name] = FIELDS[name]?.(text);
    else
      throw usageError(
        `--filter ${JSON.stringify(condition)} is not a condition, or its field was there before`,
        `pass ${Object.keys(FIELDS).join(', ')} once with a value, such as status=failed, or tag=key:value`,
        'bad_option',
      );
  }
  return filter;
}

async function openFile(path: string): Promise<Readable> {
  await access(path).catch((cause: unknown) => {
    throw fileError('read', path, { cause, fix: 'pass a file with one JSON object per line' });
  });
  return createReadStream(path);
}
