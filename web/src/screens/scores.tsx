// What people think of a turn: their scores, and the buttons of the person who reads it.
import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Turn } from '../api.ts';
import { useCanAct } from '../me.ts';
import { Age, Chip } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { DialogButton } from '../parts/dialog-button.tsx';
import { Field, LongField } from '../parts/fields.tsx';
import { SafeText } from '../parts/safe-text.tsx';

type Score = NonNullable<Turn['scores']>[number];

export function Scores({ turn }: { turn: Turn }): ReactElement | null {
  const canAct = useCanAct();
  const { scores = [], endedAt, id } = turn;
  const canScore = canAct && endedAt !== null;
  if (scores.length === 0 && !canScore) return null;
  return (
    <section className="row scores" aria-label="Scores">
      {scores.map((score) => (
        <ScoreChip key={score.id} score={score} />
      ))}
      {canScore && <Thumbs id={id} />}
      {canScore && (
        <DialogButton dialog={(close) => <NoteDialog id={id} onClose={close} />}>
          {scores.length === 0 ? 'Add a note…' : 'Note…'}
        </DialogButton>
      )}
    </section>
  );
}

function ScoreChip({ score: { score, label, note, author, createdAt } }: { score: Score }): ReactElement {
  const tone = score === null || score === 0 ? undefined : score > 0 ? 'good' : 'bad';
  return (
    <span className="score">
      <Chip tone={tone}>{scoreText(score)}</Chip>{' '}
      {label !== null && (
        <>
          <b>
            <SafeText text={label} />
          </b>{' '}
        </>
      )}
      {note !== null && <SafeText text={note} />}{' '}
      <span className="soft">
        <SafeText text={author} />, <Age at={createdAt} />
      </span>
    </span>
  );
}

/** Thumbs are the ends of the scale. */
function scoreText(score: number | null): string {
  if (score === null) return 'note';
  if (score === 1) return '👍 good';
  return score === -1 ? '👎 bad' : String(score);
}

function Thumbs({ id }: { id: string }): ReactElement {
  const give = useGive(id);
  return (
    <>
      <Button aria-label="Good answer" onClick={() => void give({ score: 1 })}>
        👍
      </Button>
      <Button aria-label="Bad answer" onClick={() => void give({ score: -1 })}>
        👎
      </Button>
    </>
  );
}

function NoteDialog({ id, onClose }: { id: string; onClose: () => void }): ReactElement {
  const give = useGive(id);
  const [label, setLabel] = useState('');
  const [note, setNote] = useState('');
  const [score, setScore] = useState(-1);
  return (
    <Confirm
      title="What do you think of this turn?"
      verb="Keep it"
      tone="main"
      onClose={onClose}
      perform={() =>
        give({ score, ...(label.trim() && { label: label.trim() }), ...(note.trim() && { note: note.trim() }) })
      }
    >
      <p>It replaces what you said of this turn before. Agents do not read it.</p>
      <div className="row" role="radiogroup" aria-label="Score">
        {[1, -1].map((value) => (
          <label key={value}>
            <input type="radio" name="score" checked={score === value} onChange={() => setScore(value)} />{' '}
            {scoreText(value)}
          </label>
        ))}
      </div>
      <Field name="Label" value={label} maxLength={100} placeholder="wrong tool" onChange={setLabel} />
      <LongField name="Note" value={note} maxLength={10_000} rows={4} onChange={setNote} />
    </Confirm>
  );
}

/** Gives the score of the person who has signed in. */
function useGive(turnId: string): (score: { score: number; label?: string; note?: string }) => Promise<void> {
  const queries = useQueryClient();
  return async (score) => {
    await api.setScore({ body: { turnId, ...score } });
    await queries.invalidateQueries({ queryKey: ['turn', turnId] });
  };
}
