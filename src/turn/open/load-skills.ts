// The skills of a workspace, read from `skills/<folder>/SKILL.md`. Only files inside the workspace are read, also through links; a
// file that cannot be read or has no description is not a skill, and does not affect others.
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readSkill, type Skill } from '../../core/prompt/skills.ts';
import { NOT_TEXT } from '../../core/text-bytes.ts';
import { orAbsent, readInside, realRootOf, WorkspaceFileError } from './read-inside.ts';

const SKILLS_FOLDER = 'skills';
const SKILL_FILE = 'SKILL.md';
/** The head of a file is at its beginning: no more than this is read, in bytes. */
const FILE_BYTES_MAX = 32 * 1024;
const FOLDERS_MAX = 300;

export interface LoadedSkills {
  skills: Skill[];
  /** What could not be read, for the log. */
  faults: WorkspaceFileError[];
}

/** The skills of a workspace in the order of their folders' names. Never throws. */
export async function loadSkills(workspaceDir: string): Promise<LoadedSkills> {
  const faults: WorkspaceFileError[] = [];
  const orNothing = async <Found>(look: () => Promise<Found>): Promise<Found | null> => {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof WorkspaceFileError)) throw error;
      faults.push(error);
      return null;
    }
  };
  const root = await orNothing(() => realRootOf(workspaceDir));
  if (root === null) return { skills: [], faults };
  const folders = (await orNothing(() => foldersOf(resolve(workspaceDir, SKILLS_FOLDER)))) ?? [];
  const skills = await Promise.all(folders.map((folder) => orNothing(() => loadSkill(workspaceDir, root, folder))));
  return { skills: skills.filter((skill) => skill !== null), faults };
}

// Links to folders count: their target is checked when the file is read.
async function foldersOf(directory: string): Promise<string[]> {
  const items = (await orAbsent(() => readdir(directory, { withFileTypes: true }), directory)) ?? [];
  return items
    .filter((item) => item.isDirectory() || item.isSymbolicLink())
    .map(({ name }) => name)
    .toSorted()
    .slice(0, FOLDERS_MAX);
}

async function loadSkill(workspaceDir: string, root: string, folder: string): Promise<Skill | null> {
  const location = join(workspaceDir, SKILLS_FOLDER, folder, SKILL_FILE);
  const { content, isText } = await readInside(location, { root, bytesMax: FILE_BYTES_MAX });
  if (!isText) throw new WorkspaceFileError(location, `it ${NOT_TEXT}; convert it to UTF-8`);
  return content === null ? null : readSkill(content, { folder, location });
}
