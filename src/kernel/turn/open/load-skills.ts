// The skills of a workspace, read from `skills/<folder>/SKILL.md`. Only files inside the workspace
// are read, also through links; a file that cannot be read or has no description is not a skill,
// and does not affect others. A file is read again only when it has changed.
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { isMap, isScalar, parseDocument } from 'yaml';
import { cutHead, NOT_TEXT } from '../../../core/text.ts';
import { confinedTo } from '../../../files/confines.ts';
import { listInside } from '../../../files/inside.ts';
import { literal } from '../../../prompt/untrusted-text.ts';
import type { Skill } from '../../../prompt/skills.ts';
import { orAbsent, readInside, WorkspaceFileError, type SeenFile } from './read-inside.ts';

const SKILLS_FOLDER = 'skills';
const SKILL_FILE = 'SKILL.md';
/** The head of a file is at its beginning: no more than this is read, in bytes. */
const FILE_BYTES_MAX = 32 * 1024;
const FOLDERS_MAX = 300;
/**
 * More than the name and the description need; a longer text would hold up other turns while it is
 * parsed.
 */
const HEAD_CHARS_MAX = 8_000;
const NAME_CHARS_MAX = 64;
const DESCRIPTION_CHARS_MAX = 1024;

export interface LoadedSkills {
  skills: Skill[];
  /** What could not be read, for the log. */
  faults: WorkspaceFileError[];
}

/** A skill as its file described it; null: the file describes none. */
interface SeenSkill {
  /** Without its content. */
  file: SeenFile;
  skill: Skill | null;
}

/** Few: one has up to `FOLDERS_MAX` skills of a kilobyte. */
const WORKSPACES_MAX = 32;
/** The skills of each workspace as they were read last, by their folders. */
const lastSeen = new LRUCache<string, Map<string, SeenSkill>>({ max: WORKSPACES_MAX });

/** The skills of a workspace in the order of their folders' names. Never throws. */
export async function loadSkills(workspaceDir: string): Promise<LoadedSkills> {
  const faults: WorkspaceFileError[] = [];
  const orNothing = async <Found>(read: () => Promise<Found>): Promise<Found | null> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof WorkspaceFileError)) throw error;
      faults.push(error);
      return null;
    }
  };
  const folders = (await orNothing(() => listFolders(workspaceDir))) ?? [];
  const before = lastSeen.get(workspaceDir);
  const seen = await Promise.all(
    folders.map((folder) => orNothing(() => loadSkill(workspaceDir, folder, before?.get(folder)))),
  );
  const found = folders.flatMap((folder, at) => (seen[at] == null ? [] : [[folder, seen[at]] as const]));
  lastSeen.set(workspaceDir, new Map(found));
  return { skills: found.flatMap(([, { skill }]) => skill ?? []), faults };
}

// Links to folders count: their target is checked when the file is read.
async function listFolders(workspaceDir: string): Promise<string[]> {
  const list = () => listInside(SKILLS_FOLDER, confinedTo(workspaceDir));
  const items = (await orAbsent(join(workspaceDir, SKILLS_FOLDER), list)) ?? [];
  return items
    .filter((item) => item.isDirectory() || item.isSymbolicLink())
    .map(({ name }) => name)
    .toSorted()
    .slice(0, FOLDERS_MAX);
}

async function loadSkill(workspaceDir: string, folder: string, before: SeenSkill | undefined): Promise<SeenSkill> {
  const name = join(SKILLS_FOLDER, folder, SKILL_FILE);
  const file = await readInside(name, { workspaceDir, bytesMax: FILE_BYTES_MAX, before: before?.file });
  if (before !== undefined && file === before.file) return before;
  const { content, isText } = file;
  const location = join(workspaceDir, name);
  if (!isText) throw new WorkspaceFileError(location, `it ${NOT_TEXT}; convert it to UTF-8`);
  return {
    file: { ...file, content: null },
    skill: content === null ? null : readSkill(content, { folder, location }),
  };
}

/**
 * The skill that a SKILL.md describes; null when its head names no description. Without a name it
 * has that of its folder.
 */
export function readSkill(content: string, file: { folder: string; location: string }): Skill | null {
  const lines = content.replace(/^\uFEFF/, '').split(/\r\n?|\n/);
  const end = lines.indexOf('---', 1);
  if (lines[0]?.trimEnd() !== '---' || end < 0) return null;
  // Other fields have forms of their own, and do not matter here.
  let isRead = false;
  const head = lines.slice(1, end).filter((line) => {
    if (/^\S/.test(line)) isRead = /^(?:name|description)[ \t]*:/i.test(line);
    return isRead;
  });
  const fields = parseFields(head) ?? parseFields(head.map(quoted)) ?? new Map<string, string>();
  const name = oneLine(fields.get('name') ?? '', NAME_CHARS_MAX) || oneLine(file.folder, NAME_CHARS_MAX);
  const description = oneLine(fields.get('description') ?? '', DESCRIPTION_CHARS_MAX);
  return description === '' ? null : { name, description, location: literal(file.location) };
}

/** The texts of the head; null if it is not YAML. */
function parseFields(head: readonly string[]): Map<string, string> | null {
  const text = head.join('\n');
  if (text.length > HEAD_CHARS_MAX) return null;
  const { contents, errors } = parseDocument(text, { schema: 'failsafe', prettyErrors: false, logLevel: 'silent' });
  if (errors.length > 0 || !isMap(contents)) return null;
  return new Map(
    contents.items.map(({ key, value }) => [String(key).toLowerCase(), isScalar(value) ? String(value.value) : '']),
  );
}

/** Many heads have a text with a colon and no quotation marks, which is not YAML. */
function quoted(line: string): string {
  const [, key, text = ''] = /^([\w-]+:[ \t])(.*)$/.exec(line) ?? [];
  return key === undefined || /^\s*["'|>]/.test(text) ? line : key + JSON.stringify(text);
}

function oneLine(text: string, charsMax: number): string {
  return cutHead(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim(), charsMax).trimEnd();
}
