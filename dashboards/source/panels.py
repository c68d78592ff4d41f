"""Building blocks of the dashboards: queries, panels, variables, links, and the layout on the grid."""

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24  # of Grafana's grid

# Selects the chosen clusters. The variable's `All` is `.*`, which also matches series without the label.
CLUSTER = 'cluster=~"$cluster"'

GOOD, WARN, BAD, PLAIN = "green", "orange", "red", "text"


def query(expr, legend="", instant=False, table=False):
    """One PromQL query, either instant (for tables of the current state) or over the time range."""
    made = {"datasource": DATASOURCE, "editorMode": "code", "expr": " ".join(expr.split()),
            "legendFormat": legend or "__auto", "instant": instant, "range": not instant}
    if table or instant:
        made["format"] = "table" if table else "time_series"
    return made


def selector(*matchers):
    return "{%s}" % ", ".join(filter(None, matchers))


def increase(metric, by, labels):
    """The increase of a counter as a whole number. increase() extrapolates to the ends of the interval
    and returns values such as 2.67 for 2 events, so the result is rounded."""
    return f"round(sum by ({by}) (increase({metric}{labels}[$__rate_interval])))"


def thresholds(*steps):
    """Takes (None, color) first, then (lower bound, color)."""
    return {"mode": "absolute", "steps": [{"color": c, "value": v} for v, c in steps]}


ALWAYS_GOOD = thresholds((None, GOOD))
BAD_IF_ANY = thresholds((None, GOOD), (1, BAD))
WARN_IF_ANY = thresholds((None, GOOD), (1, WARN))
NEUTRAL = thresholds((None, PLAIN))
BAD_IF_FULL = thresholds((None, GOOD), (0.8, WARN), (1, BAD))
BAD_IF_ZERO = thresholds((None, BAD), (1, GOOD))


def mappings(**values):
    """Texts and colors of values: mappings(v1=("Healthy", GOOD), v0=("Unhealthy", BAD))."""
    options = {name.removeprefix("v"): {"text": text, "color": color, "index": i}
               for i, (name, (text, color)) in enumerate(values.items())}
    return [{"type": "value", "options": options}]


HEALTH = mappings(v1=("Healthy", GOOD), v0=("Unhealthy", BAD))
UP_OR_DOWN = mappings(v1=("up", GOOD), v0=("down", BAD))
VALID_OR_INVALID = mappings(v1=("valid", GOOD), v0=("invalid", BAD))
RESULTS = {"/ success$/": GOOD, "/ failure$/": BAD, "/ timeout$/": WARN, "/ error$/": "purple"}


def panel(kind, title, description, unit, queries, size, options, defaults, overrides=(),
          transformations=(), **more):
    made = {
        "type": kind, "title": title, "description": " ".join(description.split()),
        "datasource": DATASOURCE, "gridPos": {"w": size[0], "h": size[1], "x": 0, "y": 0},
        "targets": [{"refId": chr(ord("A") + i), **q} for i, q in enumerate(queries)],
        "options": options,
        "fieldConfig": {"defaults": {"unit": unit, **defaults}, "overrides": list(overrides)},
    }
    if transformations:
        made["transformations"] = list(transformations)
    return {**made, **more}


def stat(title, description, expr, unit="short", steps=NEUTRAL, size=(3, 4), values=(), links=(),
         legend="", spark=True):
    return panel(
        "stat", title, description, unit, [query(expr, legend, instant=not spark)], size,
        {"colorMode": "value", "graphMode": "area" if spark else "none", "justifyMode": "auto",
         "orientation": "auto", "textMode": "name" if legend else "auto", "wideLayout": True,
         "showPercentChange": False,
         "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}},
        {"color": {"mode": "thresholds"}, "thresholds": steps, "mappings": list(values),
         "noValue": "–", **({"links": list(links)} if links else {})})


def lines(title, description, unit, queries, size=(8, 8), colors=None, steps=None, whole=False,
          no_value="none", stack=False):
    """A time series panel. `colors` sets the color of some series, by name or by /regexp/."""
    return panel(
        "timeseries", title, description, unit, queries, size,
        {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
         "tooltip": {"mode": "multi", "sort": "desc"}},
        {"color": {"mode": "palette-classic"}, "min": 0, "noValue": no_value,
         **({"decimals": 0} if whole else {}),
         "thresholds": steps or ALWAYS_GOOD,
         "custom": {"drawStyle": "line", "lineInterpolation": "stepAfter" if whole else "linear",
                    "lineWidth": 1, "fillOpacity": 20 if stack else 10, "showPoints": "never",
                    "spanNulls": False,
                    "stacking": {"mode": "normal" if stack else "none", "group": "A"},
                    "thresholdsStyle": {"mode": "dashed" if steps else "off"}}},
        [by_name(name, color={"mode": "shades" if name[0] == "/" else "fixed", "fixedColor": c})
         for name, c in (colors or {}).items()])


def bars(title, description, queries, unit="short", **more):
    """The number of events in each step of the time range; see `increase`."""
    made = lines(title, description, unit, queries, stack=True, **more)
    made["fieldConfig"]["defaults"]["custom"].update(
        drawStyle="bars", fillOpacity=70, lineInterpolation="linear")
    return made


def timeline(title, description, queries, values, size, links=()):
    return panel(
        "state-timeline", title, description, "none", queries, size,
        {"alignValue": "left", "mergeValues": True, "rowHeight": 0.8, "showValue": "auto",
         "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
         "tooltip": {"mode": "single", "sort": "none"}},
        {"color": {"mode": "thresholds"}, "thresholds": BAD_IF_ZERO, "mappings": values,
         "noValue": "none", "custom": {"fillOpacity": 80, "lineWidth": 0},
         **({"links": list(links)} if links else {})})


def table(title, description, queries, size, columns, overrides=(), sort="", unit="short",
          no_value="none"):
    """`columns` maps fields, in order, to column headings; other fields are hidden. Fields keep their
    names so that links can refer to them. `sort` lists fields; a leading - sorts in descending order."""
    order = {name: i for i, name in enumerate(columns)}
    wanted = "|".join(f"^{name}$" for name in columns)
    transformations = [
        {"id": "merge", "options": {}},
        {"id": "filterFieldsByName", "options": {"include": {"pattern": wanted}}},
        {"id": "organize", "options": {"excludeByName": {}, "indexByName": order,
                                       "renameByName": {}}},
    ]
    headings = [by_name(name, displayName=text) for name, text in columns.items() if text != name]
    return panel(
        "table", title, description, unit, queries, size,
        {"showHeader": True, "cellHeight": "sm", "frameIndex": 0,
         "sortBy": [{"displayName": columns[by.lstrip("-")], "desc": by.startswith("-")}
                    for by in sort.split()]},
        {"color": {"mode": "thresholds"}, "thresholds": NEUTRAL, "noValue": no_value,
         "custom": {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": True,
                    "inspect": False}},
        [*headings, *overrides], transformations)


def by_name(field, **properties):
    """An override for one field, or for all fields that match a /regexp/. `cell` and `width` are the
    properties of table columns."""
    ids = {"cell": "custom.cellOptions", "width": "custom.width"}
    return {"matcher": {"id": "byRegexp" if field[0] == "/" else "byName", "options": field},
            "properties": [{"id": ids.get(k, k), "value": v} for k, v in properties.items()]}


def narrow(**widths):
    """Column widths in pixels for numeric columns, which leave space for names; A is `Value #A`."""
    return [by_name(f"Value #{query}", width=pixels) for query, pixels in widths.items()]


def colored(field, steps, values=None):
    """A column whose text has the color of its value."""
    more = {"mappings": values} if values else {}
    return by_name(field, cell={"type": "color-text"}, thresholds=steps, **more)


def to_page(source):
    """A link to a device on the status page of its node. `source` provides the labels."""
    return {"title": "Open the device page", "targetBlank": True,
            "url": "${page:raw}${instance:raw}/#resource=${%s.resource:percentencode}"
                   "&device=${%s.device:percentencode}" % (source, source)}


def to_page_of_row():
    """The same link for a table with devices of several nodes."""
    link = to_page("__data.fields")
    link["url"] = link["url"].replace("${instance:raw}", "${__data.fields.instance:raw}")
    return link


# A row without a cluster sets the variable to "", which selects the series without the label.
CLUSTER_OF_ROW = "&var-cluster=${__data.fields.cluster:percentencode}"


def dashboard_url(name):
    return f"/d/patchbay-{name}?var-datasource=${{datasource}}&var-page=${{page:percentencode}}"


def to_node():
    return {"title": "Open the node dashboard",
            "url": dashboard_url("node") + CLUSTER_OF_ROW +
                   "&var-node=${__data.fields.node:percentencode}&${__url_time_range}"}


def dashboard_link(title, tooltip, name):
    """A link at the top of a dashboard to another one, which keeps the chosen clusters."""
    return {"type": "link", "title": title, "icon": "dashboard", "tooltip": tooltip,
            "url": dashboard_url(name) + "&${cluster:queryparam}", "keepTime": True,
            "includeVars": False, "asDropdown": False, "targetBlank": False, "tags": []}


def data_source_variable():
    return {"type": "datasource", "name": "datasource", "label": "Data source",
            "query": "prometheus", "regex": "", "refresh": 1, "hide": 0, "multi": False,
            "includeAll": False, "options": [],
            "description": "The Prometheus that scrapes Patchbay."}


def variable(name, label, description, text, several=True, regex="", sort=1):
    made = {"type": "query", "name": name, "label": label, "description": description,
            "datasource": DATASOURCE,
            "query": {"query": text, "refId": f"variable-{name}"}, "regex": regex, "refresh": 2,
            "sort": sort, "hide": 0, "multi": several, "includeAll": several, "options": []}
    if several:
        made.update(allValue=".*", current={"selected": True, "text": ["All"], "value": ["$__all"]})
    return made


def cluster_variable():
    return variable("cluster", "Cluster",
                    "Clusters, by the label `cluster`. Without this label, keep All.",
                    "label_values(patchbay_build_info, cluster)")


def page_variable():
    default = {"selected": True, "text": "http://", "value": "http://"}
    return {"type": "textbox", "name": "page", "label": "Node page URL prefix", "query": "http://",
            "hide": 0, "current": default, "options": [default],
            "description": "Prefix of a node's address in links to its status page: http://, or a "
                           "proxy that reaches the nodes, such as "
                           "https://ops.example.com/patchbay/"}


def annotation(name, expr, title, color):
    """An event that is marked in all panels of a dashboard."""
    return {"name": name, "datasource": DATASOURCE, "enable": True, "hide": False,
            "iconColor": color, "expr": expr, "step": "1m", "titleFormat": title,
            "textFormat": "{{node}}", "tagKeys": "", "useValueForTime": False}


def dashboard(uid, title, description, rows, variables, links, annotations=()):
    return {
        "uid": uid, "title": title, "description": " ".join(description.split()),
        "tags": ["patchbay", "kubernetes", "device-plugin"], "schemaVersion": 39, "version": 1,
        "editable": True, "graphTooltip": 1, "refresh": "30s", "timezone": "browser",
        "fiscalYearStartMonth": 0, "weekStart": "", "liveNow": False,
        "time": {"from": "now-3h", "to": "now"}, "timepicker": {},
        "templating": {"list": [data_source_variable(), cluster_variable(), *variables,
                                page_variable()]},
        "annotations": {"list": list(annotations)}, "links": links, "panels": list(placed(rows)),
    }


def placed(rows):
    """The panels of all rows with their IDs, laid out from left to right and from top to bottom."""
    number, y = 0, 0
    for title, panels in rows:
        number += 1
        yield {"type": "row", "id": number, "title": title, "collapsed": False, "panels": [],
               "gridPos": {"x": 0, "y": y, "w": WIDTH, "h": 1}}
        x, y, height = 0, y + 1, 0
        for one in panels:
            place = one["gridPos"]
            if x + place["w"] > WIDTH:
                x, y, height = 0, y + height, 0
            number += 1
            yield {"id": number, **one, "gridPos": {**place, "x": x, "y": y}}
            x, height = x + place["w"], max(height, place["h"])
        y += height
