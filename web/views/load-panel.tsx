import { useLayoutEffect, useRef } from 'preact/hooks';
import type { BrowserLoadProgress } from '../../src/browser/index.ts';
import { TEXTS } from '../texts.ts';
import { formatBytes, formatRate } from './format.ts';

/** The names of the phases. */
const PHASES: Record<BrowserLoadProgress['phase'], string> = {
  checking: TEXTS.load.checking,
  downloading: TEXTS.load.downloading,
  reading: TEXTS.load.reading,
  finishing: TEXTS.load.reading,
  ready: TEXTS.load.reading,
};

/** The progress of loading a model, with a button to cancel it. */
export function LoadPanel(props: {
  title: string;
  progress: BrowserLoadProgress | undefined;
  onCancel: () => void;
}) {
  const { title, progress, onCancel } = props;
  const cancel = useRef<HTMLButtonElement>(null);
  // The previously focused button, which started loading, is gone.
  useLayoutEffect(() => cancel.current?.focus(), []);
  const { bytes = 0, totalBytes } = progress ?? {};
  const share = totalBytes === undefined ? undefined : Math.floor((100 * bytes) / Math.max(1, totalBytes));
  const phase = progress ? PHASES[progress.phase] : TEXTS.load.opening;
  const amount =
    totalBytes === undefined
      ? formatBytes(bytes)
      : TEXTS.picker.of(formatBytes(bytes), formatBytes(totalBytes));
  return (
    <section class="load" aria-label={TEXTS.load.loading(title)}>
      <h1>{title}</h1>
      <div
        class="bar"
        role="progressbar"
        aria-label={TEXTS.load.loading(title)}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={share}
        aria-valuetext={progress ? `${phase}: ${amount}` : phase}
      >
        <div
          class={share === undefined ? 'bar-fill waiting' : 'bar-fill'}
          style={{ width: `${share ?? 100}%` }}
        />
      </div>
      <p class="load-facts">
        <span>{phase}</span>
        {progress && (
          <span class="numbers">
            {amount} · {formatRate(progress.gigabytesPerSecond)}
          </span>
        )}
      </p>
      <button type="button" ref={cancel} onClick={onCancel}>
        {TEXTS.cancel}
      </button>
    </section>
  );
}
