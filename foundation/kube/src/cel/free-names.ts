// Free variables of expressions.
import type { Expr } from './syntax.ts'

/** Returns the names that an expression takes from its environment, without those that it binds. */
export function freeNames(expr: Expr): ReadonlySet<string> {
  const found = new Set<string>()
  collect(expr, new Set(), found)
  return found
}

function collect(expr: Expr, bound: ReadonlySet<string>, found: Set<string>): void {
  const visit = (part: Expr | undefined, names: ReadonlySet<string> = bound): void => {
    if (part !== undefined) collect(part, names, found)
  }
  switch (expr.kind) {
    case 'literal':
      return
    case 'name':
      if (!bound.has(expr.name)) found.add(expr.name)
      return
    case 'select':
      return visit(expr.operand)
    case 'index':
      visit(expr.operand)
      return visit(expr.index)
    case 'call':
      return expr.args.forEach((arg) => visit(arg))
    case 'logic':
      visit(expr.left)
      return visit(expr.right)
    case 'conditional':
      visit(expr.test)
      visit(expr.whenTrue)
      return visit(expr.whenFalse)
    case 'list':
      return expr.items.forEach((item) => visit(item))
    case 'map':
      return expr.entries.forEach(([key, value]) => {
        visit(key)
        visit(value)
      })
    case 'fold': {
      const inner = new Set([...bound, ...expr.names])
      visit(expr.range)
      visit(expr.filter, inner)
      return visit(expr.body, inner)
    }
    case 'bind':
      visit(expr.value)
      return visit(expr.body, new Set([...bound, expr.name]))
    case 'optMap':
      visit(expr.target)
      return visit(expr.body, new Set([...bound, expr.name]))
  }
}
