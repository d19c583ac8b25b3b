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

interface LoadPanelProps {
  readonly title: string;
  readonly progress: BrowserLoadProgress | undefined;
  /** Why nothing arrives, if nothing does. */
  readonly pause: 'asked' | 'lost' | undefined;
  readonly onPause: () => void;
  readonly onResume: () => void;
  readonly onCancel: () => void;
}

/** The progress of loading a model, with buttons to pause and to cancel it. */
export function LoadPanel(props: LoadPanelProps) {
  const { title, progress, pause } = props;
  const { bytes = 0, totalBytes } = progress ?? {};
  const share = totalBytes === undefined ? undefined : Math.floor((100 * bytes) / Math.max(1, totalBytes));
  const phase = phaseOf(props);
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
        <span role="status">{phase}</span>
        {progress && (
          <span class="numbers">
            {amount}
            {pause === undefined && ` · ${formatRate(progress.gigabytesPerSecond)}`}
          </span>
        )}
      </p>
      <LoadButtons {...props} />
    </section>
  );
}

function phaseOf({ pause, progress }: LoadPanelProps): string {
  if (pause !== undefined) return pause === 'asked' ? TEXTS.load.paused : TEXTS.load.waiting;
  return progress ? PHASES[progress.phase] : TEXTS.load.opening;
}

function LoadButtons({ progress, pause, onPause, onResume, onCancel }: LoadPanelProps) {
  const cancel = useRef<HTMLButtonElement>(null);
  const resume = useRef<HTMLButtonElement>(null);
  // The button that had the focus, which started loading, or paused it, is gone.
  useLayoutEffect(() => (resume.current ?? cancel.current)?.focus(), [pause]);
  return (
    <div class="row">
      <button type="button" ref={cancel} onClick={onCancel}>
        {TEXTS.cancel}
      </button>
      {pause === undefined && progress?.phase === 'downloading' && (
        <button type="button" onClick={onPause}>
          {TEXTS.load.pause}
        </button>
      )}
      {pause !== undefined && (
        <button type="button" class="primary" ref={resume} onClick={onResume}>
          {TEXTS.load.resume}
        </button>
      )}
    </div>
  );
}
