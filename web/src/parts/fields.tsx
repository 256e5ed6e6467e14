// The fields of forms, each under its name.
import type { ComponentProps, ReactElement } from 'react';

type Own<Element extends 'input' | 'textarea'> = Omit<ComponentProps<Element>, 'name' | 'value' | 'onChange'>;

interface FieldProps<Value extends string> {
  name: string;
  value: Value;
  onChange: (value: Value) => void;
}

export function Field({ name, onChange, ...input }: FieldProps<string> & Own<'input'>): ReactElement {
  return (
    <label className="field">
      {name}
      <input {...input} onChange={({ target }) => onChange(target.value)} />
    </label>
  );
}

export function LongField({ name, onChange, ...area }: FieldProps<string> & Own<'textarea'>): ReactElement {
  return (
    <label className="field">
      {name}
      <textarea {...area} onChange={({ target }) => onChange(target.value)} />
    </label>
  );
}

/** A choice; `options`: the values, or each with its words. */
export function Select<Value extends string>({
  name,
  value,
  options,
  onChange,
}: FieldProps<Value> & { options: readonly Value[] | Readonly<Record<Value, string>> }): ReactElement {
  const named = Array.isArray(options) ? options.map((option: Value) => [option, option]) : Object.entries(options);
  return (
    <label className="field">
      {name}
      <select value={value} onChange={({ target }) => onChange(target.value as Value)}>
        {named.map(([option, words]) => (
          <option key={option} value={option}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Options, and first the words for none of them. */
export function withUsual(usual: string, options: readonly string[]): Readonly<Record<string, string>> {
  return { '': usual, ...Object.fromEntries(options.map((option) => [option, option])) };
}
