import { explain } from '../state/explain.ts';

/** An error, announced immediately by screen readers. */
export function ErrorNote({ title, error }: { title: string; error: unknown }) {
  const { message, fix } = explain(error);
  return (
    <div class="error-note" role="alert">
      <strong>{title}</strong>
      <p>{message}</p>
      {fix !== undefined && <p>{fix}</p>}
    </div>
  );
}
