// The `yaml` library. Imported statically, not required on first use, so that bundlers include it in an operator.
import * as yaml from 'yaml'

/** Returns the library. */
export function yamlLibrary(): typeof yaml {
  return yaml
}
