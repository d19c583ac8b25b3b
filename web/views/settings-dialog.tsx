import type { AppState } from '../state/app-state.ts';
import { DEFAULT_SETTINGS, type SettingValues } from '../state/settings.ts';
import { Dialog } from './dialog.tsx';
import { Choice, Count, Field, Range } from './fields.tsx';

/** Settings for sampling and for loading models. */
export function SettingsDialog({ state }: { state: AppState }) {
  const { settings, session, dialog } = state;
  const change = (changed: Partial<SettingValues>) => {
    settings.value = { ...settings.value, ...changed };
  };
  const reload = () => {
    dialog.value = undefined;
    void session.reload();
  };
  return (
    <Dialog title="Settings" kind="settings" onClose={() => (dialog.value = undefined)}>
      <form class="fields" onSubmit={(event) => event.preventDefault()}>
        <AnswerFields values={settings.value} change={change} />
        <h3>When a model is loaded</h3>
        <LoadFields values={settings.value} change={change} />
        <div class="row end">
          <button type="button" onClick={() => (settings.value = DEFAULT_SETTINGS)}>
            Reset
          </button>
          {session.status.value.kind === 'ready' && (
            <button type="button" class="primary" onClick={reload}>
              Reload the model
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

interface FieldsProps {
  readonly values: SettingValues;
  readonly change: (changed: Partial<SettingValues>) => void;
}

/** The settings with sliders. */
const RANGES = [
  { name: 'temperature', label: 'Temperature', hint: '0 takes the likeliest word', max: 2 },
  { name: 'topP', label: 'Top-p', hint: '1 leaves all words in', max: 1 },
  { name: 'repeatPenalty', label: 'Repetition penalty', hint: '1 is off', min: 1, max: 1.5 },
] as const;

function AnswerFields({ values, change }: FieldsProps) {
  return (
    <>
      <Field label="System prompt">
        {(id) => (
          <textarea
            id={id}
            rows={3}
            value={values.system}
            placeholder="Who the model is, and how it should answer"
            onInput={({ currentTarget }) => change({ system: currentTarget.value })}
          />
        )}
      </Field>
      {RANGES.map(({ name, ...range }) => (
        <Range key={name} {...range} value={values[name]} onChange={(value) => change({ [name]: value })} />
      ))}
      <Count
        label="Most tokens of an answer"
        value={values.maxTokens}
        onChange={(maxTokens = DEFAULT_SETTINGS.maxTokens) => change({ maxTokens })}
      />
      <Count
        label="Seed"
        hint="repeats an answer"
        least={0}
        placeholder="random"
        value={values.seed}
        onChange={(seed) => change({ seed })}
      />
    </>
  );
}

function LoadFields({ values, change }: FieldsProps) {
  return (
    <>
      <Count
        label="Context in tokens"
        value={values.context}
        onChange={(context = DEFAULT_SETTINGS.context) => change({ context })}
      />
      <Choice
        label="Memory of a conversation"
        labels={{ f16: 'Exact (f16)', q8_0: 'Half as much (q8_0)' }}
        value={values.cacheType}
        onChange={(cacheType) => change({ cacheType })}
      />
      <Choice
        label="Device"
        labels={{ auto: 'The best there is', webgpu: 'GPU (WebGPU)', cpu: 'CPU (WebAssembly)' }}
        value={values.device}
        onChange={(device) => change({ device })}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={values.keep}
          onChange={({ currentTarget }) => change({ keep: currentTarget.checked })}
        />
        Keep models in this browser
      </label>
    </>
  );
}
