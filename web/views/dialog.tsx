import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { TEXTS } from '../texts.ts';
import { CloseIcon } from './icons.tsx';

/** A modal dialog, closed by its button, by Escape or by a click outside. Focus then returns to where it was. */
export function Dialog(props: {
  title: string;
  kind: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const { title, kind, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  // Before what is typed next: an effect would run after the next frame.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${kind}`}
      aria-labelledby={`${kind}-title`}
      onClose={onClose}
      onClick={({ target }) => {
        if (target === dialog.current) dialog.current?.close();
      }}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2 id={`${kind}-title`}>{title}</h2>
          <button
            type="button"
            class="quiet"
            aria-label={TEXTS.close}
            onClick={() => dialog.current?.close()}
          >
            <CloseIcon />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
