// Skills: folders of the workspace whose SKILL.md says in its head what it is for. The prompt lists names, descriptions and places;
// the model reads the rest itself when it needs it. The list is bounded and its order is that of the names.
import { headOf } from '../cut-text.ts';
import { literal } from './literal.ts';

/** A skill as the prompt lists it. */
export interface Skill {
  name: string;
  description: string;
  /** Absolute path of its SKILL.md. */
  location: string;
}

const NAME_CHARS_MAX = 64;
const DESCRIPTION_CHARS_MAX = 1024;
const SKILLS_MAX = 150;
/** Of the whole list, in UTF-16 units. */
const LIST_CHARS_MAX = 30_000;

/** The skill that a SKILL.md describes; null when its head names no description. Without a name it has that of its folder. */
export function readSkill(content: string, file: { folder: string; location: string }): Skill | null {
  const head = frontmatterOf(content);
  if (head === null) return null;
  const name = oneLine(head.get('name') ?? file.folder, NAME_CHARS_MAX) || oneLine(file.folder, NAME_CHARS_MAX);
  const description = oneLine(head.get('description') ?? '', DESCRIPTION_CHARS_MAX);
  return description === '' ? null : { name, description, location: literal(file.location) };
}

/** The XML list that the prompt shows; empty when there are no skills. Of two with one name, the first place in the order counts. */
export function skillsPrompt(skills: readonly Skill[]): string {
  const known = new Map<string, Skill>();
  for (const skill of skills.toSorted(byPlace)) if (!known.has(skill.name)) known.set(skill.name, skill);
  const items: string[] = [];
  let chars = 0;
  for (const skill of [...known.values()].toSorted(byName).slice(0, SKILLS_MAX)) {
    const item = itemOf(skill);
    chars += item.length;
    if (chars > LIST_CHARS_MAX) break;
    items.push(item);
  }
  return items.length === 0 ? '' : ['<available_skills>', ...items, '</available_skills>'].join('\n');
}

function itemOf({ name, description, location }: Skill): string {
  return [
    '  <skill>',
    `    <name>${escapeXml(name)}</name>`,
    `    <description>${escapeXml(description)}</description>`,
    `    <location>${escapeXml(location)}</location>`,
    '  </skill>',
  ].join('\n');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/**
 * The keys of the block between the two `---` lines at the top of a file, or null without one. Of YAML it knows what such heads
 * hold: plain and quoted values, and block texts (`|`, `>`) and values that continue in indented lines.
 */
function frontmatterOf(content: string): Map<string, string> | null {
  const lines = content.replace(/^\uFEFF/, '').split(/\r\n?|\n/);
  const end = lines.indexOf('---', 1);
  if (lines[0]?.trimEnd() !== '---' || end < 0) return null;
  const values = new Map<string, string>();
  let key: string | null = null;
  for (const line of lines.slice(1, end)) {
    const match = /^([A-Za-z][\w-]*)\s*:(?:\s+([^]*))?$/.exec(line);
    if (match !== null) {
      key = match[1]?.toLowerCase() ?? null;
      if (key !== null) values.set(key, valueOf(match[2] ?? ''));
    } else if (key !== null && /^\s/.test(line)) {
      values.set(key, `${values.get(key) ?? ''} ${line.trim()}`.trim());
    }
  }
  return values;
}

function valueOf(raw: string): string {
  const text = raw.trim();
  if (/^[|>][+-]?\d*$/.test(text)) return '';
  if (text.startsWith("'") && text.endsWith("'") && text.length > 1) return text.slice(1, -1).replaceAll("''", "'");
  if (text.startsWith('"') && text.endsWith('"') && text.length > 1) return unescaped(text);
  return text.replace(/(?<!\s)\s+#[^]*$/, '');
}

function unescaped(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1);
  }
}

function oneLine(text: string, charsMax: number): string {
  return headOf(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim(), charsMax).trimEnd();
}

// By code unit: the order must not depend on a locale.
function byName(a: Skill, b: Skill): number {
  return compare(a.name, b.name);
}

function byPlace(a: Skill, b: Skill): number {
  return compare(a.location, b.location);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
