// Reading the list of skipped specs and the report of the official end-to-end suite, which itself runs in `npm run
// test:long` only.
import { describe, expect, test } from 'vitest'
import { readOtherSpecs, readRestSpecs, readSkippedSpecs, specsOf } from './official-suite-report.ts'

const skipped = readSkippedSpecs(new URL('official-suite-skipped.json', import.meta.url))

describe('the skipped specs of the official suite', () => {
  test.each([
    'Garbage collector should support cascading deletion of custom resources',
    'Garbage collector should support orphan deletion of custom resources',
    'Garbage collector should not be blocked by dependency circle [Conformance]',
    'AggregatedDiscovery should support raw aggregated discovery request for CRDs [Conformance]',
    'API priority and fairness should support FlowSchema API operations [Conformance]',
    'ResourceQuota should manage the lifecycle of a ResourceQuota [Conformance]',
    'Namespaces [Serial] should delete fast enough (90 percent of 100 namespaces in 150 seconds)',
  ])('do not include "%s", which needs neither running pods nor controllers of others', (name) => {
    expect(`Kubernetes e2e suite [sig-api-machinery] ${name}`).not.toMatch(new RegExp(skipped.pattern))
  })

  test.each([
    'Garbage collector should delete pods created by rc when not orphaning [Conformance]',
    "API priority and fairness should ensure that requests can't be drowned out (fairness)",
    'Garbage collector should orphan pods created by rc if delete options say so [Serial] [Conformance]',
    'MutatingAdmissionPolicy [Privileged:ClusterAdmin] should mutate a Deployment',
  ])('include "%s"', (name) => {
    expect(`Kubernetes e2e suite [sig-api-machinery] ${name}`).toMatch(new RegExp(skipped.pattern))
  })

  test('are reported when the suite has no spec of the name', () => {
    const names = ['[sig-api-machinery] CBOR [Alpha] clients']
    expect(skipped.unknownTo(names)).toContain('[sig-api-machinery] StorageVersion resources')
    expect(skipped.unknownTo(names)).not.toContain('[sig-api-machinery] CBOR')
  })
})

test('the pattern of the specs of other groups matches exactly these', () => {
  const others = readOtherSpecs(new URL('official-suite-others.json', import.meta.url))
  const name = '[sig-cli] Kubectl client Kubectl get componentstatuses should get componentstatuses'
  expect(others.names).toContain(name)
  expect(`Kubernetes e2e suite ${name}`).toMatch(new RegExp(others.pattern))
  expect(`Kubernetes e2e suite ${name} twice`).not.toMatch(new RegExp(others.pattern))
  expect([...others.names].filter((one) => one.startsWith('[sig-api-machinery]'))).toEqual([])
})

test('a spec of sig-apps, sig-auth and sig-cli either runs or has a reason why it does not', () => {
  const others = readOtherSpecs(new URL('official-suite-others.json', import.meta.url))
  const rest = readRestSpecs(new URL('official-suite-rest.json', import.meta.url))
  expect([...rest.names].filter((name) => others.names.has(name))).toEqual([])
  const suite = [...others.names, ...rest.names, '[sig-apps] a new one', '[sig-storage] a new one']
  expect(rest.unlisted(suite, others)).toEqual(['[sig-apps] a new one'])
})

test('reads names and results from a JUnit report', () => {
  const junit = `<testsuites><testsuite name="Kubernetes e2e suite">
    <testcase name="[ReportBeforeSuite]" classname="Kubernetes e2e suite" status="passed" time="0.01"></testcase>
    <testcase name="[It] [sig-api-machinery] a &#39;quoted&#39; &amp; b" classname="Kubernetes e2e suite" status="timedout" time="9"></testcase>
    <testcase name="[It] [sig-node] c &lt;d&gt;" classname="Kubernetes e2e suite" status="skipped" time="0"></testcase>`
  expect(specsOf(junit)).toEqual([
    { name: "[sig-api-machinery] a 'quoted' & b", status: 'timedout' },
    { name: '[sig-node] c <d>', status: 'skipped' },
  ])
})
