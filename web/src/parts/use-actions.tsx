// Actions that need no question first.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Problem } from './problem.tsx';

/**
 * Runs actions and reads these queries again; `problem` is the error of the last action, if it has
 * failed.
 */
export function useActions(...keys: readonly string[]) {
  const queries = useQueryClient();
  const { mutate, error, isPending } = useMutation({
    mutationFn: (action: () => Promise<unknown>) => action(),
    onSettled: () => Promise.all(keys.map((key) => queries.invalidateQueries({ queryKey: [key] }))),
  });
  return { act: mutate, isBusy: isPending, problem: error === null ? null : <Problem error={error} /> };
}
