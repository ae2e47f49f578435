// The `yaml` library. Imported, not required on first use: a bundler puts it into the bundle of an operator.
import * as yaml from 'yaml'

/** Returns the library. */
export function yamlLibrary(): typeof yaml {
  return yaml
}
