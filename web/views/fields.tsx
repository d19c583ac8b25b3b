import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { LANGUAGE } from '../language.ts';
import { TEXTS } from '../texts.ts';

/** A labelled field, as wide as the form or half of it; `children` renders it with the id that the label refers to. */
export function Field(props: {
  label: string;
  hint?: string | undefined;
  half?: boolean;
  children: (id: string) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class={props.half ? 'field half' : 'field'}>
      <label for={id}>
        {props.label}
        {props.hint !== undefined && <small> {props.hint}</small>}
      </label>
      {props.children(id)}
    </div>
  );
}

/** A slider from `min` (default 0) to `max`; undefined, as the model recommends, stands at `usual`. */
export function Range(props: {
  label: string;
  hint: string;
  min?: number;
  max: number;
  usual: number;
  value: number | undefined;
  onChange: (value: number) => void;
}) {
  return (
    <Field label={props.label} hint={props.hint}>
      {(id) => (
        <div class="row">
          <input
            id={id}
            type="range"
            min={props.min ?? 0}
            max={props.max}
            step={0.05}
            value={props.value ?? props.usual}
            onInput={({ currentTarget }) => props.onChange(Number(currentTarget.value))}
          />
          <output for={id} class="numbers">
            {props.value?.toLocaleString(LANGUAGE, { minimumFractionDigits: 2, maximumFractionDigits: 2 }) ??
              TEXTS.setting.asModel}
          </output>
        </div>
      )}
    </Field>
  );
}

/**
 * A whole number; undefined if the field is empty or the number is below `least`. The text is not changed while it is
 * being typed.
 */
export function Count(props: {
  label: string;
  hint?: string;
  least?: number;
  placeholder?: string;
  value: number | undefined;
  onChange: (value: number | undefined) => void;
}) {
  const { least = 1 } = props;
  const [typed, setTyped] = useState<string>();
  const onInput = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    const { value, valueAsNumber } = currentTarget;
    setTyped(value);
    props.onChange(Number.isInteger(valueAsNumber) && valueAsNumber >= least ? valueAsNumber : undefined);
  };
  return (
    <Field label={props.label} hint={props.hint} half>
      {(id) => (
        <input
          id={id}
          type="number"
          min={least}
          step={1}
          value={typed ?? props.value ?? ''}
          placeholder={props.placeholder}
          onInput={onInput}
          onBlur={() => setTyped(undefined)}
        />
      )}
    </Field>
  );
}

/** A number from 0 to `max`; undefined if the field is empty or holds another. */
export function Decimal(props: {
  label: string;
  max: number;
  step: number;
  placeholder: string;
  value: number | undefined;
  onChange: (value: number | undefined) => void;
}) {
  const { label, max, step, placeholder, value, onChange } = props;
  return (
    <Field label={label} half>
      {(id) => (
        <input
          id={id}
          type="number"
          min={0}
          max={max}
          step={step}
          defaultValue={value === undefined ? '' : String(value)}
          placeholder={placeholder}
          onInput={({ currentTarget: { valueAsNumber: typed } }) =>
            onChange(typed >= 0 && typed <= max && (step < 1 || Number.isInteger(typed)) ? typed : undefined)
          }
        />
      )}
    </Field>
  );
}

/** One of a few values, labelled in the order of `labels`, in half of the form's width or all of it. */
export function Choice<Value extends string>(props: {
  label: string;
  hint?: string;
  whole?: boolean;
  labels: Readonly<Record<Value, string>>;
  value: Value;
  onChange: (value: Value) => void;
}) {
  return (
    <Field label={props.label} hint={props.hint} half={!props.whole}>
      {(id) => (
        <select
          id={id}
          value={props.value}
          onChange={({ currentTarget }) => props.onChange(currentTarget.value as Value)}
        >
          {Object.entries<string>(props.labels).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
