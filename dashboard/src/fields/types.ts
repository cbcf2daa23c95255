// What every input of a field is given.
import type { Field, Json } from '../lib/types';

export interface InputProps {
  field: Field;
  value: Json;
  change: (value: Json) => void;
  /** Like `change`, with a message whose button takes it back. */
  replace?: ((value: Json, said: string) => void) | undefined;
  /** Says whether the input holds something that is no value, such as a date without its year. */
  incomplete?: (is: boolean) => void;
  /** Goes up when the form is put back. The input drops a half-typed value then. */
  discards?: number;
  id: string;
  labelId: string;
  invalid: boolean;
  describedby: string | undefined;
  blueprint: string;
  variant: string | null;
}
