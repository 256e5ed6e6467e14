// The filters of a list: fields whose values are kept only in the URL.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement, ReactNode } from 'react';
import { api } from '../api.ts';
import { markedText } from '../format/visible-text.ts';
import { useSeesAll } from '../me.ts';

/** A choice; the empty value is no filter. */
export function Choice(props: {
  name: string;
  value: string | undefined;
  options: readonly string[];
  /** What the empty value means; absent: no filter. */
  usual?: string;
  /** Of the values; absent: the value itself. */
  words?: Readonly<Record<string, string>>;
  onChange: (value: string | undefined) => void;
}): ReactElement {
  const { name, value, options, usual, words = {}, onChange } = props;
  return (
    <label data-set={(value !== undefined && value !== usual) || undefined}>
      {name}
      <select
        value={value === usual ? '' : (value ?? '')}
        onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
      >
        <option value="">{usual ?? 'any'}</option>
        {[...new Set([...options, ...(value === undefined ? [] : [value])])]
          .filter((option) => option !== usual)
          .map((option) => (
            <option key={option} value={option}>
              {words[option] ?? markedText(option)}
            </option>
          ))}
      </select>
    </label>
  );
}

type Field = Pick<Parameters<typeof TextFilter>[0], 'name' | 'value' | 'onChange'>;

const CODES_MAX = 100;
const listAgents = async () => (await api.listAgents()).items;

/** What there is to choose from, as the service knows it now: what is read, and the names in it. */
const FOUND = {
  agents: () =>
    useQuery({ ...found('agents'), queryFn: listAgents, select: (items) => items.map(({ id }) => id) }).data,
  models: () =>
    useQuery({
      ...found('agents'),
      queryFn: listAgents,
      select: (items) => items.flatMap(({ model, fallbacks }) => [model, ...fallbacks]),
    }).data,
  channels: () =>
    useQuery({
      ...found('channels'),
      queryFn: async () => (await api.listChannels()).items,
      enabled: useSeesAll(),
      select: (items) => ['api', 'webhook', ...items.map(({ name }) => name)],
    }).data,
  codes: () =>
    useQuery({
      ...found('codes'),
      queryFn: async () => (await api.listDeadLetters({ limit: CODES_MAX })).items,
      select: (items) => items.map(({ code }) => code),
    }).data,
} as const;

const found = (name: string) => ({ queryKey: ['found', name], staleTime: FOUND_MS });

/** A choice of what exists; a value of the URL that does not is offered, too. */
export function FoundChoice({ of, ...field }: Field & { of: keyof typeof FOUND }): ReactElement {
  const names = FOUND[of]();
  return <Choice {...field} options={names?.toSorted() ?? []} />;
}
const FOUND_MS = 60_000;

const RANGES: Readonly<Record<string, string>> = {
  '1h': 'last hour',
  today: 'today',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
};

/** A range that ends now; the URL keeps its name, so that a link means the same later. */
export function TimeFilter(field: Field): ReactElement {
  return <Choice {...field} options={Object.keys(RANGES)} words={RANGES} />;
}

/** A text that is used when the field is left or Enter is pressed. */
export function TextFilter(props: {
  name: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}): ReactElement {
  const { name, value, onChange } = props;
  const use = (text: string): void => onChange(text.trim() === '' ? undefined : text.trim());
  return (
    <label data-set={value !== undefined || undefined}>
      {name}
      <input
        key={value}
        defaultValue={value}
        onBlur={(event) => event.target.value !== (value ?? '') && use(event.target.value)}
        onKeyDown={(event) => event.key === 'Enter' && use(event.currentTarget.value)}
      />
    </label>
  );
}

export function Filters({ children }: { children: ReactNode }): ReactElement {
  return (
    <div className="filters" role="search">
      {children}
    </div>
  );
}
