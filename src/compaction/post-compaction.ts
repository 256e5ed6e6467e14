// What follows a compaction without a model call: the next prompt repeats the rules of the
// workspace that must not be lost with the conversation, and it is checked whether the workspace
// files are still in the requests.
import { readHeading } from '../prompt/markdown-heading.ts';
import { cutHead } from '../core/text.ts';
import type { SystemBlock } from '../core/model-request.ts';

/** The first line of the event that repeats the rules. */
export const REFRESH_TITLE = '[Post-compaction context refresh]';

/** What older files call sections. */
const OLDER_NAMES: Readonly<Record<string, string>> = { 'session startup': 'every session', 'red lines': 'safety' };
const REFRESH_CHARS_MAX = 3_000;
const CUT_NOTE = '\n[... cut ...]';
const FILE_HEADING = '## ';
/** The placeholder for a missing file. */
const MISSING_NOTE = '[MISSING] ';
const INTRODUCTION =
  'The earlier conversation was just compacted into a summary. These rules of the workspace (from AGENTS.md) still apply:';

/**
 * The text of the system event after a compaction; null when AGENTS.md has none of the sections
 * with these headings, or there is no such file. `now` is the time as it is to be read.
 */
export function refreshText(agentsFile: string | null, headings: readonly string[], now: string): string | null {
  if (agentsFile === null) return null;
  const names = headings.map((heading) => heading.trim().toLowerCase());
  const sections = [...new Set(names)]
    .map((name) => findSection(agentsFile, name) ?? findSection(agentsFile, OLDER_NAMES[name] ?? name))
    .filter((text) => text !== null);
  if (sections.length === 0) return null;
  const ending = `\n\nCurrent time: ${now}`;
  const beginning = `${REFRESH_TITLE}\n\n${INTRODUCTION}\n\n`;
  const room = REFRESH_CHARS_MAX - beginning.length - ending.length;
  const rules = sections.join('\n\n');
  return beginning + (rules.length <= room ? rules : cutHead(rules, room - CUT_NOTE.length) + CUT_NOTE) + ending;
}

/**
 * A section of a Markdown file with its heading, up to the next heading of its level or above; null
 * when it is empty or not there.
 */
export function findSection(markdown: string, name: string): string | null {
  const lines = markdown.replaceAll('\0', '').split(/\r\n|[\n\r]/);
  let fence = false;
  let from = -1;
  let level = 0;
  for (const [at, line] of lines.entries()) {
    if (/^\s*(```|~~~)/.test(line)) fence = !fence;
    const heading = fence ? null : readHeading(line);
    if (heading === null) continue;
    if (from >= 0 && heading.level <= level) return textOfSection(lines.slice(from, at));
    if (from < 0 && heading.title.toLowerCase() === name) [from, level] = [at, heading.level];
  }
  return from < 0 ? null : textOfSection(lines.slice(from));
}

function textOfSection(lines: readonly string[]): string | null {
  return lines.slice(1).every((line) => line.trim() === '') ? null : lines.join('\n').trim();
}

/** A workspace file, as it is on disk; `content` is null when it is not there. */
export interface AuditedFile {
  name: string;
  path: string;
  content: string | null;
}

/** Which files the requests show, and which they should and do not. Names as configured. */
export interface BootstrapAudit {
  shown: string[];
  missing: string[];
}

/**
 * The paths of the files that a system prompt shows; those that it only says are missing are not
 * among them.
 */
export function pathsShownIn(system: readonly SystemBlock[]): ReadonlySet<string> {
  const lines = system.flatMap(({ text }) => text.split('\n'));
  const isShown = (line: string, at: number): boolean =>
    line.startsWith(FILE_HEADING) && lines[at + 1]?.startsWith(MISSING_NOTE) !== true;
  return new Set(lines.filter(isShown).map((line) => line.slice(FILE_HEADING.length)));
}

/**
 * Compares the files of a workspace with those that are shown. A file that is empty or not there
 * need not be.
 */
export function auditBootstrap(shownPaths: ReadonlySet<string>, files: readonly AuditedFile[]): BootstrapAudit {
  const audit: BootstrapAudit = { shown: [], missing: [] };
  for (const { name, path, content } of files) {
    if (content === null || content.trim() === '') continue;
    (shownPaths.has(path) ? audit.shown : audit.missing).push(name);
  }
  return audit;
}
