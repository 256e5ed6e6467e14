// The workspace files of a prompt after plugins had their way with them.
import { storableText } from '../storable-text.ts';
import type { WorkspaceFile } from '../prompt/system-input.ts';
import { readList } from './plugin-text.ts';

/** The most files of one prompt. */
const FILES_MAX = 100;

export interface ReadFiles {
  files: WorkspaceFile[];
  /** The indexes of invalid files in the list: without a path, or with a content that is not text. */
  dropped: number[];
}

/**
 * The list as it may be shown. An entry needs a `path`; its `name` is else the last part of the path, and a `content` of null or nothing
 * means that the file is not there. Throws `PluginValueError` when the value is not a list.
 */
export function readBootstrapFiles(value: unknown): ReadFiles {
  const files: WorkspaceFile[] = [];
  const dropped: number[] = [];
  for (const [index, item] of readList(value, 'bootstrapFiles', FILES_MAX).entries()) {
    const { name, path, content } = (item ?? {}) as Partial<Record<keyof WorkspaceFile, unknown>>;
    const isContent = content === undefined || content === null || typeof content === 'string';
    if (typeof path !== 'string' || path.trim() === '' || !isContent) {
      dropped.push(index);
      continue;
    }
    files.push({
      name: typeof name === 'string' && name !== '' ? name : path.slice(path.lastIndexOf('/') + 1),
      path,
      content: typeof content === 'string' ? storableText(content) : null,
    });
  }
  return { files, dropped };
}
