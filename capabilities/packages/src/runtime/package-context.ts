// The package context of a package in a deployment repository.
import { stringify } from 'yaml'
import type { PackageFiles } from '../engine/package-files.ts'

/** Returns the files with `package-context.yaml`, by which functions know name and path of the package. */
export function withDeploymentContext(files: PackageFiles, name: string, path: string): PackageFiles {
  const context = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'kptfile.kpt.dev', annotations: { 'config.kubernetes.io/local-config': 'true' } },
    data: { name, 'package-path': path },
  }
  return new Map(files).set('package-context.yaml', stringify(context))
}
