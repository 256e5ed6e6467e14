// A button, and the actions that need no question first.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ComponentProps, ReactElement } from 'react';
import { Problem } from './problem.tsx';

interface ButtonProps extends ComponentProps<'button'> {
  /** `bad`: it cannot be undone. */
  tone?: 'main' | 'bad' | undefined;
}

export function Button({ tone, ...props }: ButtonProps): ReactElement {
  return <button type="button" className="button" data-tone={tone} {...props} />;
}

/** Runs actions and reads these queries again; `problem` is the error of the last action, if it has failed. */
export function useActions(...keys: readonly string[]) {
  const queries = useQueryClient();
  const { mutate, error, isPending } = useMutation({
    mutationFn: (action: () => Promise<unknown>) => action(),
    onSettled: () => Promise.all(keys.map((key) => queries.invalidateQueries({ queryKey: [key] }))),
  });
  return { act: mutate, isBusy: isPending, problem: error === null ? null : <Problem error={error} /> };
}
