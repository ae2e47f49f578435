// `fairlead install` and `fairlead uninstall`: print manifests, and send nothing.
import type { KubeObject } from '@fairlead/kube'
import { stringifyYamlDocuments } from '@fairlead/kube'
import { defaultNamespace } from './install-options.ts'
import { manifests, removal } from './manifests.ts'
import { parseInstallOptions } from './parse-options.ts'

/** Prints the manifests of an installation. Throws usage errors. */
export async function install(raw: Readonly<Record<string, unknown>>): Promise<void> {
  const options = await parseInstallOptions(raw)
  print(manifests(options))
  if (raw['image'] === undefined)
    advise(
      `the pods run the image ${options.image}, which no registry has: build it (docs/how-to/install.md), and name it with --image`,
    )
}

/** Prints what an uninstallation deletes. Throws usage errors. */
export async function uninstall(raw: Readonly<Record<string, unknown>>): Promise<void> {
  const options = await parseInstallOptions(raw)
  const crds = raw['crds'] === true
  print(removal(options, { crds }))
  if (crds) {
    const kinds = options.capabilities.flatMap((capability) => capability.crds.map(({ metadata }) => metadata.name))
    advise(
      `this deletes ${kinds.length} definitions and ALL objects of their kinds. Back them up; then delete them while the controllers still run, which release what they own (objects of AWS kinds delete their resources at AWS), and wait until they are deleted:
  kubectl delete --all --all-namespaces ${kinds.join(',')}`,
    )
  } else advise('definitions and objects of users stay (--crds deletes them)')
  if (options.namespace !== defaultNamespace)
    advise(
      `the namespace ${options.namespace} stays; when nothing else is in it: kubectl delete namespace ${options.namespace}`,
    )
}

function print(objects: readonly KubeObject[]): void {
  process.stdout.write(stringifyYamlDocuments(objects))
}

/** Writes to standard error, so that what is piped stays YAML. */
function advise(sentence: string): void {
  process.stderr.write(`fairlead: ${sentence}\n`)
}
