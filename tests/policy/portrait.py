"""What makes a rule set what it is, as data that can be compared: two of the same are equal."""

from typing import Any

from policyd.policy.ruleset import Expression, PolicyBlock, Rule, Ruleset


def portrait(ruleset: Ruleset | None) -> Any:
    """Give everything of a rule set but the compiled programs, which follow from the texts."""
    if ruleset is None:
        return None
    return {
        "hash": ruleset.hash,
        "rules": [_rule(rule) for rule in ruleset.rules],
        "blocks": [_block(block) for block in ruleset.blocks],
        "parameters": dict(ruleset.parameters),
        "values": dict(ruleset.values),
        "findings": ruleset.findings,
    }


def _expression(expression: Expression | None) -> Any:
    return expression and (expression.source, expression.span, expression.type)


def _rule(rule: Rule) -> Any:
    return (
        *(rule.name, rule.source, rule.span, rule.shadow, rule.reads),
        _expression(rule.when),
        [(_expression(r.condition), _expression(r.because)) for r in rule.requirements],
        [
            (
                *(_expression(s.value), _expression(s.weight), _expression(s.normalize)),
                *(s.avoid, s.normalized),
            )
            for s in rule.scores
        ],
    )


def _block(block: PolicyBlock) -> Any:
    clauses = [
        (
            *(clause.word, _expression(clause.value), _expression(clause.because)),
            [(_expression(key.value), key.descending) for key in clause.keys],
        )
        for clause in block.clauses
    ]
    return block.word, block.name, block.source, block.span, block.shadow, clauses
