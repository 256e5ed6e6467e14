// The parts of an entry: words with chips for what was put around them, images, thinking, and the
// rest of what was cut.
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState, type ReactElement, type ReactNode } from 'react';
import { api, type Entry } from '../api.ts';
import { countText } from '../format/amounts.ts';
import type { PartPlace } from '../format/conversation.ts';
import { jsonText } from '../format/json-text.ts';
import { keptCharsOf } from '../format/long-text.ts';
import { promptPieces, type PromptPiece } from '../format/prompt-text.ts';
import { Chip } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { NoData } from '../parts/loading.tsx';
import { Problem } from '../parts/problem.tsx';
import { LongText } from '../parts/safe-text.tsx';
import { JsonTree } from '../words/json-tree.tsx';
import { useKept } from '../words/kept.ts';
import { Words } from '../words/words.tsx';

/** Longer parts are cut; the rest is read when it is asked for. */
export const PART_CHARS = 16_384;

/** A text unchanged, anything else as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : jsonText(value);
}

interface BlockProps {
  at: PartPlace;
  parts: Entry['parts'];
  sessionKey: string;
}

export function Block({ at, parts, isRaw, sessionKey }: BlockProps & { isRaw: boolean }): ReactElement {
  const { block } = at;
  return (
    <>
      {block.type === 'text' ? (
        <PromptText text={textOf(block['text'])} {...{ parts, isRaw }} offset={0} name={`${at.entryId} ${at.n}`} />
      ) : (
        <OtherBlock {...{ at, sessionKey }} />
      )}
      {block.type !== 'image' && <Omitted {...{ at, parts, sessionKey }} />}
    </>
  );
}

function OtherBlock({ at: { block, entryId, n }, sessionKey }: Omit<BlockProps, 'parts'>): ReactElement {
  const name = `${entryId} ${n}`;
  if (block.type === 'image') return <Picture image={block} at={{ key: sessionKey, id: entryId, n }} />;
  if (block.type === 'thinking')
    return (
      <Folded title={<span className="soft">thinking</span>} name={name}>
        <Words text={textOf(block['thinking'])} />
      </Folded>
    );
  return (
    <Folded title={<span className="soft">{block.type}</span>} name={name}>
      <JsonTree value={block} place={name} />
    </Folded>
  );
}

const PICTURE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/;

interface PictureProps {
  image: Readonly<Record<string, unknown>>;
  /** Where its bytes are, if they are not here. */
  at: { key: string; id: string; n: number; image?: number };
  /** Whether they are read without a click. */
  isAsked?: boolean;
}

/** An image of the transcript, whose bytes are read when it is asked for. */
export function Picture({ image, at, isAsked = false }: PictureProps): ReactElement {
  const source = (image['source'] ?? {}) as { data?: unknown; media_type?: unknown };
  const type = String(source.media_type);
  const given = PICTURE_TYPE.test(type) && typeof source.data === 'string' ? source.data : null;
  const [isShown, setShown] = useKept(`picture ${at.id} ${at.n} ${at.image}`, isAsked);
  const bytes = useQuery({
    queryKey: ['picture', at],
    queryFn: () => api.getEntryPart(at),
    enabled: isShown && given === '',
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (given === null) return <Chip>an image</Chip>;
  const data = given === '' ? bytes.data : given;
  if (data !== undefined)
    return <img className="picture" src={`data:${type};base64,${data}`} alt="From the transcript" />;
  if (isShown) return <NoData query={bytes} />;
  return <Button onClick={() => setShown(true)}>Show the image</Button>;
}

interface PromptProps {
  text: string;
  parts: Entry['parts'];
  offset: number;
  name: string;
  isRaw: boolean;
}

/**
 * A text, or a stretch of it. What was put around the words of a prompt is a chip in its place,
 * which opens.
 */
function PromptText({ text, parts, offset, name, isRaw }: PromptProps): ReactElement {
  const pieces = useMemo(() => promptPieces(text, parts, offset), [text, parts, offset]);
  if (pieces.length === 1 && pieces[0]?.label === null) return <Words text={text} isRaw={isRaw} />;
  return (
    <div className="prompt-text">
      {pieces.map((piece, at) =>
        piece.label === null ? (
          <div key={at} className="said">
            <Words text={piece.text} isRaw={isRaw} />
          </div>
        ) : (
          <Folded key={at} title={chipOf(piece)} name={`${name} ${offset} ${at}`}>
            <LongText text={piece.text} />
          </Folded>
        ),
      )}
    </div>
  );
}

function chipOf({ label, isTrusted }: PromptPiece): ReactElement {
  return (
    <Chip>
      {label}
      {!isTrusted && <span className="soft">, untrusted</span>}
    </Chip>
  );
}

function Folded({ title, name, children }: { title: ReactNode; name: string; children: ReactNode }): ReactElement {
  const [isOpen, setOpen] = useKept(name, false);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && children}
    </details>
  );
}

const PIECE_CHARS = 262_144;

/**
 * The rest of a part that was cut, as it was written: read piece by piece, because it can be tens
 * of megabytes.
 */
export function Omitted({ at: { block, entryId, n }, parts, sessionKey }: BlockProps): ReactElement | null {
  const omitted = Number(block['omittedChars'] ?? 0);
  const [pieces, setPieces] = useKept<string[]>(`${entryId} pieces ${n}`, []);
  const [error, setError] = useState<unknown>(null);
  if (omitted === 0) return null;
  const start = keptCharsOf(block);
  const read = pieces.reduce((sum, piece) => sum + piece.length, 0);

  async function readOn(): Promise<void> {
    setError(null);
    try {
      const place = { key: sessionKey, id: entryId, n };
      const piece = await api.getEntryPart({ ...place, offset: start + read, length: PIECE_CHARS });
      setPieces([...pieces, piece]);
    } catch (cause) {
      setError(cause);
    }
  }

  return (
    <>
      {pieces.map((piece, index) => (
        <PromptText
          key={index}
          text={piece}
          parts={parts}
          offset={start + pieces.slice(0, index).reduce((sum, { length }) => sum + length, 0)}
          name={`${entryId} ${n}`}
          isRaw
        />
      ))}
      {error !== null && <Problem error={error} />}
      {read < omitted && (
        <Button onClick={() => void readOn()}>Show the rest ({countText(omitted - read)} characters)</Button>
      )}
    </>
  );
}
