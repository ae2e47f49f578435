// Cases of the function suites that do not run here, and those on which we differ, each with its reason.
import type { FunctionCase } from './function-case.ts'

/** Functions that this version does not have (specs/packages.md, "Not in this version"), and programs of the suites. */
const absent = new Set(['gatekeeper', 'starlark', 'drop-comments', 'kubeval'])

/** Returns why a case does not run here, undefined when it does. */
export function leftOut({ name, functions }: FunctionCase): string | undefined {
  if (functions.some((each) => absent.has(each)) || /(?:^|\/)(?:starlark|gatekeeper)/.test(name))
    return 'starlark, gatekeeper, kubeval and the programs of their tests'
  if (name.includes('wasm')) return 'wasm'
  if (name.startsWith('image-pull-policy') || name === 'missing-fn-image' || name === 'basicpipeline-semver')
    return 'pulls images'
  if (name === 'exec-function-stderr') return 'runs a script that is not in the data'
  return undefined
}

const yamlError = 'the error names another token than go-yaml does'
const kustomization = 'set-labels writes selectors into a kustomization, which has no apiVersion; ours does not'
const oldNamespace = 'set-namespace of 2021 adds a namespace to kinds that it does not know'
const oldLabels = 'set-labels of 2021 adds pod templates to workloads without one'
const oldMessages = 'kpt of 2025 says it in other words'

/** Reasons by suite and case. */
export const differences: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'kpt/e2e/testdata/fn-render': {
    'invalid-kptfile': yamlError,
    'krm-check-exclude-kustomize': kustomization,
  },
  'kpt/v1.0.0-beta.56/e2e/testdata/fn-render': {
    basicpipeline: oldLabels,
    'basicpipeline-out-of-place': oldLabels,
    'basicpipeline-symlink': oldLabels,
    'default-runtime': oldLabels,
    fnconfig: oldLabels,
    'fnconfig-ancestorfn-not-mutate-subpkg-config': oldLabels,
    'fnconfig-cannot-refer-subpkgs': oldMessages,
    'fnconfig-in-subdir': oldLabels,
    'fnconfig-pkgfn-refers-subdir': oldLabels,
    'fnconfig-updated-in-render': oldLabels,
    'format-on-success': oldNamespace,
    'invalid-kptfile': yamlError,
    'krm-check-exclude-kustomize': oldLabels,
    'missing-fnconfig': oldMessages,
    'no-fnconfig': oldMessages,
    'no-pipeline-in-subpackage': oldLabels,
    'out-of-place-dir': oldNamespace,
    'out-of-place-fnchain-stdout': oldNamespace,
    'out-of-place-fnchain-stdout-results': oldNamespace,
    'out-of-place-fnchain-unwrap': oldNamespace,
    'out-of-place-stdout': oldNamespace,
    'out-of-place-unwrap': oldNamespace,
    'preserve-order-null-values': oldLabels,
    'resource-has-pkgname-prefix': 'set-annotations of 2021 drops quotes',
    'selectors/basicpipeline': oldLabels,
    'selectors/exclude': oldLabels,
    'selectors/selectors-with-exclude': oldLabels,
    'short-image-path': oldLabels,
    'subpkg-has-samename-subdir': oldNamespace,
    subpkgs: oldLabels,
    'subpkgs-with-krmignore': oldLabels,
    'success-stdout': oldLabels,
  },
}
