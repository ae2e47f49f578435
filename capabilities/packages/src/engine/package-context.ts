// The package context: a ConfigMap by which functions know the name of the package that they run in, as kpt makes it.
import { stringifyYaml } from '@fairlead/kube'
import type { PackageFiles } from './package-files.ts'

/** The file of the package context. */
export const contextPath = 'package-context.yaml'

/** The name under which a package is deployed, and its path in a deployment repository. */
export interface PackageContext {
  readonly name: string
  readonly path?: string
}

/** Returns the package context as YAML. */
export function packageContext({ name, path }: PackageContext): string {
  const scalar = (value: string): string => stringifyYaml(value).trimEnd()
  return `apiVersion: v1
kind: ConfigMap
metadata:
  name: kptfile.kpt.dev
  annotations:
    config.kubernetes.io/local-config: "true"
data:
  name: ${scalar(name)}
${path === undefined ? '' : `  package-path: ${scalar(path)}\n`}`
}

/** Returns the files with a package context (`pkg get --for-deployment`, clones into deployment repositories). */
export function withPackageContext(files: PackageFiles, context: PackageContext): PackageFiles {
  return new Map([...files, [contextPath, packageContext(context)]])
}
