// Skills: folders of the workspace whose SKILL.md says in its head what it is for. The prompt lists
// names, descriptions and places; the model reads the rest itself when it needs it. The list is
// bounded and its order is that of the names.

/** A skill as the prompt lists it. */
export interface Skill {
  name: string;
  description: string;
  /** Absolute path of its SKILL.md. */
  location: string;
}

const SKILLS_MAX = 150;
/** The limit of the whole list, in UTF-16 units. */
const LIST_CHARS_MAX = 30_000;

/**
 * The XML list that the prompt shows; empty when there are no skills. Of two with one name, the
 * first place in the order counts.
 */
export function skillsPrompt(skills: readonly Skill[]): string {
  const known = new Map<string, Skill>();
  for (const skill of skills.toSorted(byPlace)) if (!known.has(skill.name)) known.set(skill.name, skill);
  const items: string[] = [];
  let chars = 0;
  for (const skill of [...known.values()].toSorted(byName).slice(0, SKILLS_MAX)) {
    const item = formatItem(skill);
    chars += item.length;
    if (chars > LIST_CHARS_MAX) break;
    items.push(item);
  }
  return items.length === 0 ? '' : ['<available_skills>', ...items, '</available_skills>'].join('\n');
}

function formatItem({ name, description, location }: Skill): string {
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
