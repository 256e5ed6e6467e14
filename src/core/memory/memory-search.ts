// The types of a search over memories. The index is the store's, the files are read by the tools.
import type { MemoryChunk } from './chunk-markdown.ts';

/** A file of a memory as it is on disk. */
export interface MemoryFileRef {
  path: string;
  sha256: string;
}

/** A file cut into searchable chunks. */
export interface ChunkedFile extends MemoryFileRef {
  chunks: readonly MemoryChunk[];
}

export interface MemorySearch {
  agentId: string;
  files: readonly MemoryFileRef[];
  query: string;
  hitsMax: number;
}

export interface MemoryHit extends MemoryChunk {
  path: string;
  /** Above 0 to 1: how much of the query is in it; rare words count more than frequent ones. */
  score: number;
}

export interface MemoryFindings {
  /** Best first. */
  hits: MemoryHit[];
  /** The files that are not indexed. */
  missing: MemoryFileRef[];
}

/** Files for the index of an agent; `current` names all that is on disk. */
export interface MemoryAddition {
  agentId: string;
  files: readonly ChunkedFile[];
  current: readonly MemoryFileRef[];
}
