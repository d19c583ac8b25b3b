import type { ComponentChildren } from 'preact';

/** A button that is a drawing, with its label. */
export function Act(props: {
  label: string;
  disabled?: boolean;
  onClick: () => void;
  children: ComponentChildren;
}) {
  const { label, disabled = false, onClick, children } = props;
  return (
    <button
      type="button"
      class="quiet"
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
