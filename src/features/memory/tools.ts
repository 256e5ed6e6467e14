// The tools of memory search, over the index in the database.
import type { Service } from '../../kernel/use-cases/service.ts';
import { type Tool, type ToolCall, type ToolOutcome, textOutcome, errorOutcome } from '../../tools/tool.ts';
import { indexMemory, searchMemory } from './store.ts';
import { z } from 'zod';
import {
  chunkMarkdown,
  type ChunkedFile,
  type MemoryAddition,
  type MemoryFindings,
  type MemoryHit,
  type MemorySearch,
} from './rules.ts';
import { NOT_TEXT, cutHead } from '../../core/text.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { listMemory, readMemoryFile, type MemoryFile, type MemoryListing, MEMORY_PATH } from './memory-files.ts';
import { notText } from '../../tools/text-files.ts';

export function createMemoryTools({ database }: Pick<Service, 'database'>): Tool[] {
  const index = {
    search: (search: Parameters<typeof searchMemory>[1]) => searchMemory(database, search),
    add: (addition: Parameters<typeof indexMemory>[1]) => indexMemory(database, addition),
  };
  return [createMemorySearchTool(index), memoryGetTool];
}

// The `memory_search` tool: finds lines in MEMORY.md and memory/*.md. The files are compared with
// the index at each search and what has changed is indexed first, so that a note is found as soon
// as it is written.

/** Where memories are indexed, see `src/features/memory/store.ts`. */
export interface MemoryIndex {
  search(search: MemorySearch): Promise<MemoryFindings>;
  add(addition: MemoryAddition): Promise<void>;
}

const CHUNK_LIMITS = { charsMax: 1000, chunksMax: 2000 };
const HITS_DEFAULT = 6;
const HITS_MAX = 25;
/** This many files are indexed in one statement. */
const FILES_PER_STATEMENT = 8;

export function createMemorySearchTool(index: MemoryIndex): Tool {
  return defineTool({
    name: 'memory_search',
    description:
      'Search MEMORY.md and memory/*.md for words (any of them, in any form; rare ones count most). Returns the best passages with path and line numbers; fetch more of a file with memory_get.',
    summary: 'Search MEMORY.md and memory/*.md',
    input: z.strictObject({
      query: z.string().trim().min(1).max(1000).describe('What to look for, in a few words'),
      maxResults: z.int().min(1).max(HITS_MAX).optional().describe(`Passages at most; default ${HITS_DEFAULT}`),
      minScore: z.number().min(0).max(1).optional().describe('Leave out passages with less of the query in them'),
    }),
    isIdempotent: true,
    // The index is a copy of the files on disk; filling it changes nothing visible.
    isReadOnly: true,
    async run({ query, maxResults = HITS_DEFAULT, minScore = 0 }, call) {
      const listing = await listMemory(call.workspaceDir, call.signal);
      if (listing.files.length === 0 && listing.notText.length === 0)
        return textOutcome('There is no memory yet: no MEMORY.md and no memory/*.md.');
      const hits = await searchCurrent(index, { call, listing, query, hitsMax: maxResults });
      const good = hits.filter(({ score }) => score >= minScore);
      return describe(good, query, listing);
    },
  });
}

async function searchCurrent(
  index: MemoryIndex,
  { call, listing, query, hitsMax }: { call: ToolCall; listing: MemoryListing; query: string; hitsMax: number },
): Promise<MemoryHit[]> {
  const { agentId } = call;
  const found = await index.search({ agentId, files: listing.files, query, hitsMax });
  if (found.missing.length === 0) return found.hits;
  const files = new Map(listing.files.map((file) => [file.path, file]));
  for (let at = 0; at < found.missing.length; at += FILES_PER_STATEMENT) {
    call.signal.throwIfAborted();
    const batch = found.missing.slice(at, at + FILES_PER_STATEMENT);
    const read = await Promise.all(batch.map(({ path }) => readMemoryFile(call.workspaceDir, path)));
    // It may have changed since it was hashed: the content that is read now is used.
    for (const file of read) if (file !== null) files.set(file.path, file);
    await index.add({
      agentId,
      files: read.filter((file) => file !== null).map(chunked),
      current: [...files.values()].map(({ path, sha256 }) => ({ path, sha256 })),
    });
  }
  call.signal.throwIfAborted();
  return (await index.search({ agentId, files: [...files.values()], query, hitsMax })).hits;
}

function chunked({ path, sha256, content }: MemoryFile): ChunkedFile {
  return { path, sha256, chunks: chunkMarkdown(content, CHUNK_LIMITS) };
}

/**
 * Each passage after the line that names its place: `memory/2026-01-31.md#L4-L9 (score 0.82) under
 * Work > Plans`.
 */
function describe(hits: readonly MemoryHit[], query: string, { files, notText, leftOut }: MemoryListing): ToolOutcome {
  const notes = leftOut > 0 ? [`[${leftOut} files were not searched, because there are too many.]`] : [];
  if (notText.length > 0) notes.push(`[Not searched: ${notText.join(', ')} ${NOT_TEXT}; convert it to UTF-8.]`);
  if (hits.length === 0) {
    const nothing = `Nothing about ${JSON.stringify(query)} in ${files.length} ${files.length === 1 ? 'file' : 'files'} of memory.`;
    return textOutcome([nothing, ...notes].join('\n'));
  }
  const passages = hits.map(({ path, firstLine, lastLine, score, headings, text }) => {
    const place = `${path}#L${firstLine}${lastLine > firstLine ? `-L${lastLine}` : ''}`;
    const under = headings === '' ? '' : ` under ${headings}`;
    return `${place} (score ${score.toFixed(2)})${under}\n${text}`;
  });
  return textOutcome([...passages, ...notes].join('\n\n'));
}

// The `memory_get` tool: lines of MEMORY.md or of a file in memory/, and of nothing else (G30).

const LINES_DEFAULT = 200;
const LINES_MAX = 2000;
const CHARS_MAX = 50_000;

export const memoryGetTool: Tool = defineTool({
  name: 'memory_get',
  description: `Read lines of MEMORY.md or of a file memory/<name>.md, ${LINES_DEFAULT} by default. Use the paths and line numbers that memory_search returns.`,
  summary: 'Read lines of a memory file',
  input: z.strictObject({
    path: z
      .string()
      .max(300)
      .overwrite((path) => path.replace(/^\.\//, ''))
      .refine((path) => MEMORY_PATH.test(path), {
        error: ({ input }) =>
          `${JSON.stringify(input)} is not a memory file; allowed: "MEMORY.md" or "memory/<name>.md"`,
      })
      .describe('MEMORY.md or memory/<name>.md'),
    from: z.int().min(1).optional().describe('First line, beginning with 1'),
    lines: z.int().min(1).max(LINES_MAX).optional().describe('How many lines'),
  }),
  isIdempotent: true,
  isReadOnly: true,
  async run({ path, from = 1, lines = LINES_DEFAULT }, call) {
    const file = await readMemoryFile(call.workspaceDir, path);
    if (file === null) return errorOutcome(`memory_get: path: the file ${path} does not exist in the workspace`);
    if (!file.isText) return errorOutcome(`memory_get: path: ${notText(path, 'read').message}`);
    const all = file.content.replace(/\r?\n$/, '').split('\n');
    if (from > all.length)
      return errorOutcome(`memory_get: from: ${path} has ${all.length} lines, and ${from} is after its end`);
    const shown = fitting(all.slice(from - 1, from - 1 + lines));
    const last = from - 1 + shown.lines.length;
    const total = file.isCut ? `more than ${all.length}` : `${all.length}`;
    const rest = last < all.length ? `; continue with from: ${last + 1}` : '';
    const cut = shown.isCut ? ' The last of them is cut.' : '';
    return textOutcome(`[${path}, lines ${from}-${last} of ${total}${rest}.${cut}]\n${shown.lines.join('\n')}`);
  },
});

/** The lines that fit into a result; a first line that does not is cut. */
function fitting(lines: readonly string[]): { lines: string[]; isCut: boolean } {
  const kept: string[] = [];
  let chars = 0;
  for (const line of lines) {
    chars += line.length + 1;
    if (chars > CHARS_MAX && kept.length > 0) break;
    kept.push(cutHead(line, CHARS_MAX));
    if (chars > CHARS_MAX) return { lines: kept, isCut: true };
  }
  return { lines: kept, isCut: false };
}
