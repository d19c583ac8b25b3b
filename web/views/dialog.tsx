import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { TEXTS } from '../texts.ts';
import { CloseIcon } from './icons.tsx';

/**
 * A modal dialog, closed by its button, by Escape or by a click outside. Focus then returns to where it was.
 *
 * Whoever shows it is told before it closes, not by the `close` event, which a browser sends later: keys that come in
 * between would be taken for the dialog's.
 */
export function Dialog(props: {
  title: string;
  kind: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const { title, kind, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  // Before what is typed next: an effect would run after the next frame.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${kind}`}
      aria-labelledby={`${kind}-title`}
      onCancel={({ target }) => {
        // A chooser of files in it tells of its own cancelling.
        if (target === dialog.current) onClose();
      }}
      onClose={({ currentTarget }) => {
        // Closed by the browser alone. One that has gone from the page says nothing of the dialog after it.
        if (currentTarget.isConnected) onClose();
      }}
      onClick={({ target }) => {
        if (target === dialog.current) onClose();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={`${kind}-title`}>{title}</h2>
          <button type="button" class="quiet" aria-label={TEXTS.close} onClick={onClose}>
            <CloseIcon />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
