"""Evaluates the part of CEL that the policy of deploy/kustomize uses. Everything else fails the test."""

import re

TOKEN = re.compile(r'"[^"\\]*"|\w+|==|!=|&&|\|\||\[\?|\.\?|\S')


class Error(Exception):
    """The API server would report an error too. Other exceptions mean that this evaluator does not suffice."""


def evaluate(expression, values):
    return Parser(expression, values).whole()()


class Parser:
    """Each method parses a part and returns a function that evaluates it. An optional is a tuple, empty or of one."""

    def __init__(self, expression, values):
        self.tokens, self.values = [*TOKEN.findall(expression), ""], values

    def take(self, *wanted):
        return self.tokens.pop(0) if self.tokens[0] in wanted else None

    def expect(self, pattern):
        token = self.tokens.pop(0)
        if not re.fullmatch(pattern, token):
            raise ValueError(f"not supported before {' '.join(self.tokens)!r}: {token!r}")
        return token

    def whole(self):
        result = self.expression()
        self.expect("")
        return result

    def expression(self):
        condition = self.disjunction()
        if not self.take("?"):
            return condition
        then = self.disjunction()
        self.expect(":")
        otherwise = self.expression()
        return lambda: then() if checked(bool, condition()) else otherwise()

    def disjunction(self):
        return self.logical("||", True, self.conjunction)

    def conjunction(self):
        return self.logical("&&", False, self.relation)

    def logical(self, operator, decisive, operand):
        sides = [operand()]
        while self.take(operator):
            sides.append(operand())

        def result():
            error = None
            for side in sides:
                try:
                    if checked(bool, side()) is decisive:
                        return decisive  # also if another side has an error
                except Error as caught:
                    error = caught
            if error:
                raise error
            return not decisive
        return result if len(sides) > 1 else sides[0]

    def relation(self):
        left = self.sum()
        operator = self.take("==", "!=")
        if not operator:
            return left
        right = self.sum()
        return lambda: (checked(str, left()) == checked(str, right())) is (operator == "==")

    def sum(self):
        parts = [self.member()]
        while self.take("+"):
            parts.append(self.member())
        if len(parts) == 1:
            return parts[0]
        return lambda: "".join(checked(str, part()) for part in parts)

    def member(self):
        value = self.primary()
        while operator := self.take(".", ".?", "[", "[?"):
            value = self.selection(value, operator)
        return value

    def selection(self, value, operator):
        if "[" in operator:
            key = self.expect(r'".*"|\d+')
            self.expect("]")
            key = key[1:-1] if key[0] == '"' else int(key)
        else:
            key = self.expect(r"[A-Za-z]\w*")
            if operator == "." and self.take("("):
                argument = self.expression()
                self.expect(r"\)")
                function = {"matches": matches, "orValue": or_value}[key]
                return lambda: function(value(), argument())
        return lambda: select(value(), key, "?" in operator)

    def primary(self):
        if self.take("("):
            inner = self.expression()
            self.expect(r"\)")
            return inner
        token = self.expect(r'".*"|[A-Za-z]\w*')
        if token[0] == '"':
            return lambda: token[1:-1]
        if token not in self.values:
            raise ValueError(f"unknown name: {token}")
        return lambda: self.values[token]


def checked(kind, value):
    if type(value) is not kind:
        raise TypeError(f"not a {kind.__name__}: {value!r}")
    return value


def select(value, key, optional):
    if isinstance(value, tuple):  # what follows an optional is optional
        return select(value[0], key, True) if value else ()
    if value is None:
        raise Error(f"null has no {key}")
    if isinstance(key, int):
        found = key < len(checked(list, value))
    elif isinstance(value, dict):
        found = key in value
    else:
        raise TypeError(f"not a map: {value!r}")
    if not found and not optional:
        raise Error(f"no such key: {key}")
    return ((value[key],) if found else ()) if optional else value[key]


def matches(value, pattern):
    if "(?" in checked(str, pattern):
        raise ValueError(f"may differ between RE2 and Python: {pattern}")
    return re.search(re.sub(r"\$$", r"\\Z", pattern), checked(str, value), re.ASCII) is not None


def or_value(optional, default):
    return (*checked(tuple, optional), default)[0]
