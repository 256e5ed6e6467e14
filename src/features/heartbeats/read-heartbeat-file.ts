// Reads HEARTBEAT.md. A file of headings and empty list items contains no task, which needs no
// model call to find out. It may hold tasks with intervals of their own, as YAML between other
// text; what cannot be read as one is a fault with its line, and is never dropped silently:
//
//   tasks:
//   - name: inbox
//     interval: 30m
//     prompt: Look for urgent mail.
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type YAMLMap } from 'yaml';
import { parseDuration } from '../../core/time.ts';
import type { HeartbeatFile, HeartbeatTask } from '../../core/heartbeat.ts';
import { cutHead } from '../../core/text.ts';

const TASKS_MAX = 50;
const TASK_CHARS_MAX = 4_000;
/** More than that many tasks can have; a longer block would hold up the scheduler. */
const BLOCK_CHARS_MAX = 250_000;
const SHOWN_CHARS_MAX = 60;
const FIELDS = ['name', 'interval', 'prompt'] as const;
const HEADING = /^#{1,6}(?:\s|$)/;
const EMPTY_ITEM = /^(?:[-*+]|\d+[.)])?\s*(?:\[[ xX]?\]\s*)?$/;
const FENCE = /^(?:```|~~~)/;

/** Reads the file. */
export function readHeartbeatFile(content: string): HeartbeatFile {
  const lines = withoutComments(content).split(/\r?\n/);
  const read: Entries = { tasks: [], faults: [] };
  const others: string[] = [];
  for (let at = 0; at < lines.length;) {
    const end = /^tasks:(?:\s|$)/.test(lines[at] ?? '') ? endOfBlock(lines, at) : at;
    const entries = end === at ? null : readBlock(lines.slice(at, end).join('\n'), at);
    if (entries === null) others.push(lines[at++] ?? '');
    else {
      read.tasks.push(...entries.tasks);
      read.faults.push(...entries.faults);
      at = end;
    }
  }
  const { tasks, faults } = withoutRepeated(read);
  const hasMore = others.some(asksForSomething);
  return { isEmpty: tasks.length + faults.length === 0 && !hasMore, tasks, hasMore, faults };
}

function withoutComments(content: string): string {
  let rest = '';
  let at = 0;
  for (;;) {
    const start = content.indexOf('<!--', at);
    const end = start < 0 ? -1 : content.indexOf('-->', start);
    if (end < 0) return rest + content.slice(at);
    // Their line breaks stay, so that lines keep their numbers.
    rest += content.slice(at, start) + content.slice(start, end).replaceAll(/[^\n]/g, '');
    at = end + '-->'.length;
  }
}

function asksForSomething(raw: string): boolean {
  const line = raw.trim();
  return line !== '' && !HEADING.test(line) && !EMPTY_ITEM.test(line) && !FENCE.test(line);
}

/** The block continues while lines are indented, items or blank. */
function endOfBlock(lines: readonly string[], start: number): number {
  for (let at = start + 1; at < lines.length; at += 1) if (!/^(?:\s|-\s|-$|$)/.test(lines[at] ?? '')) return at;
  return lines.length;
}

interface Entries {
  tasks: (HeartbeatTask & { line: number })[];
  faults: string[];
}

/**
 * The entries of a block that begins after `linesBefore` lines; null when it is a sentence that
 * begins with the word.
 */
function readBlock(text: string, linesBefore: number): Entries | null {
  const entries: Entries = { tasks: [], faults: [] };
  const lineCounter = new LineCounter();
  const lineAt = (offset: number): number => linesBefore + lineCounter.linePos(offset).line;
  const fault = (line: number, words: string): void => void entries.faults.push(`line ${line}: ${words}`);
  if (text.length > BLOCK_CHARS_MAX) {
    fault(linesBefore + 1, `the tasks have more than ${BLOCK_CHARS_MAX} characters; shorten them`);
    return entries;
  }
  // Without types: a name such as 007 or yes is a text.
  const document = parseDocument(text, { schema: 'failsafe', lineCounter, prettyErrors: false, logLevel: 'silent' });
  const value: unknown = isMap(document.contents) ? document.contents.get('tasks', true) : undefined;
  if (isScalar(value)) return String(value.value).trim() === '' ? entries : null;
  const items: unknown[] = isSeq(value) ? value.items : [value];
  const errors = new Set(document.errors);
  for (const item of items) {
    const [start = 0, , end = text.length] = readRange(item);
    const wrong = [...errors].filter(({ pos: [at] }) => at >= start && at < end);
    for (const error of wrong) errors.delete(error);
    const [first] = wrong;
    const line = lineAt(first?.pos[0] ?? start);
    const task =
      first === undefined
        ? readTask(item)
        : `is not YAML: ${first.message}; put texts with special characters in quotation marks`;
    if (typeof task === 'string') fault(line, task);
    else {
      entries.tasks.push({ ...task.task, line });
      for (const words of task.warnings) fault(line, words);
    }
  }
  for (const error of errors) fault(lineAt(error.pos[0]), `is not YAML: ${error.message}`);
  return entries;
}

function readRange(node: unknown): readonly number[] {
  return (node as { range?: readonly number[] | null } | null | undefined)?.range ?? [];
}

/** The task of an item with what to check, or the reason why it is none. */
function readTask(item: unknown): { task: HeartbeatTask; warnings: string[] } | string {
  if (!isMap(item)) return `is not a task; allowed: a list item with ${FIELDS.join(', ')}`;
  const readText = (field: string): string | null | undefined => {
    const node: unknown = item.get(field, true);
    return node === undefined ? undefined : isScalar(node) ? String(node.value).trim() : null;
  };
  const title = readText('name') ? ` ${shown(readText('name') ?? '')}` : '';
  for (const field of FIELDS) {
    const text = readText(field);
    if (text === undefined) return `the task${title} has no ${field}`;
    if (text === null) return `${field} of the task${title} is not a text; put it in quotation marks`;
    if (text === '') return `${field} of the task${title} is empty`;
  }
  const [name = '', interval = '', prompt = ''] = FIELDS.map((field) => readText(field) ?? '');
  const intervalMs = parseDuration(interval);
  if (intervalMs === undefined) {
    return `interval of the task${title} is ${shown(interval)}; allowed: a duration such as 30m, 1h30m or 1w (units s, m, h, d, w)`;
  }
  const task = { name: cutHead(name, TASK_CHARS_MAX), intervalMs, prompt: cutHead(prompt, TASK_CHARS_MAX) };
  return { task, warnings: listWarnings(item, { title, prompt }) };
}

function listWarnings(item: YAMLMap, { title, prompt }: { title: string; prompt: string }): string[] {
  const warnings: string[] = [];
  const unknown = item.items.map(({ key }) => String(key)).filter((key) => !FIELDS.some((field) => field === key));
  if (unknown.length > 0)
    warnings.push(`the task${title} has the unknown fields ${unknown.join(', ')}; known: ${FIELDS.join(', ')}`);
  const node = item.get('prompt', true);
  if (isScalar(node) && typeof node.comment === 'string' && node.type === 'PLAIN') {
    warnings.push(
      `the prompt of the task${title} ends before ${shown(`#${node.comment}`)}, which is a comment in YAML; put the prompt in quotation marks`,
    );
  }
  if (prompt.length > TASK_CHARS_MAX) {
    warnings.push(
      `the prompt of the task${title} has ${prompt.length} characters, and only ${TASK_CHARS_MAX} are used`,
    );
  }
  return warnings;
}

/** Names identify tasks from poll to poll, and there are only so many. */
function withoutRepeated({ tasks, faults }: Entries): { tasks: HeartbeatTask[]; faults: string[] } {
  const kept = new Map<string, HeartbeatTask>();
  const more = [...faults];
  for (const { line, ...task } of tasks) {
    if (kept.has(task.name))
      more.push(`line ${line}: another task has the name ${shown(task.name)}; give each its own`);
    else if (kept.size === TASKS_MAX)
      more.push(`line ${line}: the task ${shown(task.name)} is beyond the ${TASKS_MAX} that are allowed`);
    else kept.set(task.name, task);
  }
  return { tasks: [...kept.values()], faults: more };
}

function shown(text: string): string {
  return JSON.stringify(cutHead(text, SHOWN_CHARS_MAX));
}
