import { useSignal } from '@preact/signals';
import type { AppState } from '../state/app-state.ts';
import type { Preset } from '../state/settings.ts';
import { TEXTS } from '../texts.ts';
import { Field } from './fields.tsx';

const { setting: TEXT } = TEXTS;

interface SystemPromptProps {
  readonly state: AppState;
  readonly label: string;
  readonly hint?: string;
  readonly placeholder?: string;
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** A system prompt, which can be chosen from those that the person keeps. */
export function SystemPrompt({ state, label, hint, placeholder, text, onText }: SystemPromptProps) {
  return (
    <>
      <Field label={label} hint={hint}>
        {(id) => (
          <textarea
            id={id}
            rows={3}
            value={text}
            placeholder={placeholder}
            onInput={({ currentTarget }) => onText(currentTarget.value)}
          />
        )}
      </Field>
      <details>
        <summary>{TEXT.presets}</summary>
        <Presets state={state} text={text} onChoose={onText} />
      </details>
    </>
  );
}

/**
 * The prompts that are kept: one is chosen, the present one kept under a name, or the chosen one removed. The name's field belongs to
 * no form: a second one in the dialog's would keep Enter in the first from sending it.
 */
function Presets(props: { state: AppState; text: string; onChoose: (text: string) => void }) {
  const { text, onChoose } = props;
  const { settings } = props.state;
  const { presets } = settings.value;
  const name = useSignal('');
  const change = (changed: typeof presets) => (settings.value = { ...settings.value, presets: changed });
  const chosen = presets.find((preset) => preset.text === text);
  const keep = () => {
    const called = name.value.trim();
    if (called === '' || text.trim() === '') return;
    change([...without(presets, called), { name: called, text }]);
    name.value = '';
  };
  return (
    <div class="fields">
      {presets.length > 0 && (
        <div class="row">
          <select
            aria-label={TEXT.presets}
            value={chosen?.name ?? ''}
            onChange={({ currentTarget: { value } }) => {
              const preset = presets.find((of) => of.name === value);
              if (preset) onChoose(preset.text);
            }}
          >
            <option value="">{TEXT.presetsNone}</option>
            {presets.map((preset) => (
              <option key={preset.name} value={preset.name}>
                {preset.name}
              </option>
            ))}
          </select>
          {chosen && (
            <button type="button" class="small" onClick={() => change(without(presets, chosen.name))}>
              {TEXT.presetRemove}
            </button>
          )}
        </div>
      )}
      <div class="row">
        <input
          type="text"
          form=""
          aria-label={TEXT.presetName}
          placeholder={TEXT.presetName}
          value={name.value}
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.isComposing) return;
            event.preventDefault();
            keep();
          }}
        />
        <button type="button" class="small" onClick={keep}>
          {TEXT.presetKeep}
        </button>
      </div>
    </div>
  );
}

const without = (presets: readonly Preset[], name: string) =>
  presets.filter((preset) => preset.name !== name);
